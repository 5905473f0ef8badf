"""Where things run."""
import torch


def get_default_device():
    """The GPU if there is one."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")


def move_data_to_device(batch, device):
    """Tensors in dicts, lists and tuples, moved."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=device.type == "cuda")
    if isinstance(batch, dict):
        return {key: move_data_to_device(value, device) for key, value in batch.items()}
    return type(batch)(move_data_to_device(value, device) for value in batch)


def free_memory():
    """Give cached blocks back; says whether there was a cache."""
    if not torch.cuda.is_available():
        return False
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return True
