"""Classify drawn shapes."""
from shapes.device import get_default_device, move_data_to_device
from shapes.model import ShapeNet
from shapes.train import fit

__all__ = ["ShapeNet", "fit", "get_default_device", "move_data_to_device"]
