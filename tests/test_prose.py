"""What is said instead of CUDA, sentence by sentence."""

from __future__ import annotations

import pytest

from codemods.knowledge.prose import rewordings

SAID = {
    "Need CUDA available": ("Need an accelerator available", "Need GPU available"),
    "No CUDA device available.": ("No accelerator available.", "No GPU available."),
    "CUDA required": ("Accelerator required", "GPU required"),
    "CUDA is required for this test": ("An accelerator is required for this test", "GPU is required for this test"),
    "CUDA is not available": ("No accelerator is available", "No GPU is available"),
    "since cuda isn't available, stay": ("since no accelerator is available, stay", "since no GPU is available, stay"),
    "ERROR: CUDA not available": ("ERROR: accelerator not available", "ERROR: GPU not available"),
    "CUDA IS NOT AVAILABLE!": ("NO ACCELERATOR IS AVAILABLE!", "NO GPU IS AVAILABLE!"),
    "CUDA available: ": ("Accelerator available: ", "GPU available: "),
    "runs without a CUDA device": ("runs without an accelerator", "runs without a GPU"),
    "A CUDA tensor is made": ("An accelerator tensor is made", "A GPU tensor is made"),
    "only works on CUDA": ("only works on an accelerator", "only works on GPU"),
    "move it to CUDA first": ("move it to the accelerator first", "move it to GPU first"),
    "takes 2 CUDA devices": ("takes 2 accelerators", "takes 2 GPUs"),
    "the second CUDA-enabled GPU": ("the second accelerator", "the second GPU"),
    "disables CUDA training": ("disables accelerator training", "disables GPU training"),
}

LEFT = [
    "CUDA 11.8 or later",
    "CUDA version 12 is needed",
    "a CUDA graph is captured on CUDA",
    "launch the CUDA kernel",
    "needs the CUDA toolkit",
    "cuDNN and CUDA are required",
    "Torch not compiled with CUDA enabled",
    "CUDA out of memory. Tried to allocate",
    "set CUDA_VISIBLE_DEVICES before CUDA is used: the driver reads it",
    "CUDA launches are asynchronous",
    "CUDA does not wait for the copy",
    "only CPU and CUDA are supported",
    "one of cpu, cuda",
    "requires CUDA or XPU",
    "CUDA/ROCm is not available",
    "needs an NVIDIA GPU with CUDA",
    "see https://pytorch.org/docs/stable/notes/cuda.html",
    "use `cuda` here",
    "use ``torch.cuda`` here",
    'said "no CUDA device"',
    "device = cuda",
    "x.cuda()",
    "moves to cuda:0",
    "non-CUDA devices",
    "ONNX CUDA",
    "slower, a bug of cuda streams",
    "is implemented for CUDA",
    "if the device is set to cuda",
    "shake out any CUDA errors",
    "the cuda_stream of cudaMalloc",
]


@pytest.mark.parametrize("text", SAID)
def test_a_sentence_about_where_something_runs_is_reworded(text: str) -> None:
    assert (_reworded(text, "accelerator"), _reworded(text, "GPU")) == SAID[text]


@pytest.mark.parametrize("text", SAID)
@pytest.mark.parametrize("noun", ["accelerator", "GPU"])
def test_a_reworded_sentence_is_left(text: str, noun: str) -> None:
    assert list(rewordings(_reworded(text, noun), noun)) == []


@pytest.mark.parametrize("text", LEFT)
def test_a_sentence_about_cuda_itself_is_left(text: str) -> None:
    assert list(rewordings(text, "accelerator")) == []


def _reworded(text: str, noun: str) -> str:
    for words in reversed(list(rewordings(text, noun))):
        text = text[: words.start] + words.text + text[words.end :]
    return text
