"""Random numbers of the devices; `NEURON_REF_RNG` chooses the mode (see README)."""

from collections.abc import Iterable

import torch

from .core import C
from .devices import DeviceLike, index_of

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]

default_generators: tuple[torch.Generator, ...] = tuple(C.default_generator(i) for i in range(C.device_count()))


def manual_seed(seed: int) -> None:
    """Seed the current device."""
    default_generators[C.current_device()].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed all devices; `torch.manual_seed` calls this."""
    for generator in default_generators:
        generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the current device with a number that differs from run to run, and return it."""
    return default_generators[C.current_device()].seed()


def seed_all() -> None:
    """Seed all devices with one number that differs from run to run."""
    manual_seed_all(seed())


def initial_seed() -> int:
    """The seed of the current device."""
    return default_generators[C.current_device()].initial_seed()


def get_rng_state(device: DeviceLike = None) -> torch.Tensor:
    """The state of a device's generator: 16 bytes (seed, offset) as a CPU tensor of uint8, in the default
    mode."""
    return default_generators[index_of(device)].get_state()


def set_rng_state(state: torch.Tensor, device: DeviceLike = None) -> None:
    """Restore what `get_rng_state` returned.

    Raises:
        RuntimeError: `state` is not such a tensor.
    """
    default_generators[index_of(device)].set_state(state)


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices."""
    return [generator.get_state() for generator in default_generators]


def set_rng_state_all(states: Iterable[torch.Tensor]) -> None:
    """Restore the states of all devices."""
    for generator, state in zip(default_generators, states, strict=True):
        generator.set_state(state)
