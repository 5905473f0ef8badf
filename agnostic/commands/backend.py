"""`torch-agnostic backend`: build and check the reference backend, and see what a program asks of it."""

from backend_ref.cli import backend as command

__all__ = ["command"]
