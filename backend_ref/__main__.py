"""`python -m backend_ref`: the same commands as `torch-agnostic backend`."""

from .cli import backend

backend(prog_name="python -m backend_ref")
