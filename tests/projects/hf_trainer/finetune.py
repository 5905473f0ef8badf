"""Train a tiny causal language model with the Hugging Face Trainer, from random weights."""
import os
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"


class Counting(Dataset):
    """Sequences that count up in steps of one to four, modulo the vocabulary."""

    def __init__(self, n, vocab_size=48, length=16):
        g = torch.Generator().manual_seed(9)
        start = torch.randint(0, vocab_size, (n, 1), generator=g)
        step = torch.randint(1, 5, (n, 1), generator=g)
        self.ids = (start + step * torch.arange(length)) % vocab_size

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i].clone()}


class MemoryCallback(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if torch.cuda.is_available():
            logs["gpu_mem_gb"] = round(torch.cuda.max_memory_allocated() / 2**30, 3)
            torch.cuda.reset_peak_memory_stats()


def print_trainable_parameters(model):
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print(f"trainable params: {trainable}, device: {model.device}")


def main():
    set_seed(17)
    config = LlamaConfig(
        vocab_size=48, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=32, attention_dropout=0.0,
        bos_token_id=None, eos_token_id=None, pad_token_id=0,
    )
    model = LlamaForCausalLM(config).to("cuda")
    print_trainable_parameters(model)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=8,
            per_device_eval_batch_size=8,
            gradient_accumulation_steps=2,
            learning_rate=5e-3,
            max_steps=8,
            logging_steps=2,
            save_strategy="no",
            report_to=[],
            use_cpu=not torch.cuda.is_available(),
            dataloader_pin_memory=torch.cuda.is_available(),
            disable_tqdm=True,
        )
        data = Counting(160)
        trainer = Trainer(
            model=model, args=arguments, train_dataset=data, eval_dataset=Counting(16), callbacks=[MemoryCallback()]
        )
        result = trainer.train()
        print(f"train loss {result.training_loss:.6f}, eval loss {trainer.evaluate()['eval_loss']:.6f}")
    model.eval()
    prompt = torch.tensor([[3, 5, 7, 9]]).cuda()
    with torch.no_grad():
        output = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=6, do_sample=False, pad_token_id=0
        )
    print("generated:", output[0].tolist())


if __name__ == "__main__":
    main()
