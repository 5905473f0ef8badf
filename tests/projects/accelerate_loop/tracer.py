"""How much GPU memory a block of code used."""
import gc

import torch


def b2mb(x):
    """Converting Bytes to Megabytes."""
    return x / 2**20


class TorchTracemalloc:
    """Context manager used to trace memory, in MB: begin, used, peaked."""

    def __enter__(self):
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()  # reset the peak gauge to zero
            self.begin = torch.cuda.memory_allocated()
        else:
            self.begin = 0
        return self

    def __exit__(self, *exc):
        gc.collect()
        self.end = self.peak = 0
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
            self.end = torch.cuda.memory_allocated()
            self.peak = torch.cuda.max_memory_allocated()
        self.used = b2mb(self.end - self.begin)
        self.peaked = b2mb(self.peak - self.begin)
