"""A reference accelerator for PyTorch: a PrivateUse1 backend whose device memory is host memory.

It proves that a program depends on no vendor: set `TORCH_AGNOSTIC_BACKEND=neuron` (or any other name) and the
program runs on a device of that name, which behaves as an accelerator does. Importing this package does
nothing; `import torch` registers the device if the setting asks for it. Not affiliated with AWS, Google or
NVIDIA.
"""

SETTING = "TORCH_AGNOSTIC_BACKEND"
