"""What `import torch` calls, through the entry point group `torch.backends`.

An exception here would make `import torch` fail in every program of the environment, and a compilation would
make it take a minute. So this never raises and never compiles: it registers the device if the setting asks
for one and the core has been built, and otherwise says in one line what to do.
"""

import os
import warnings

from . import SETTING


def autoload() -> None:
    """Register the device that `TORCH_AGNOSTIC_BACKEND` names; do nothing if it is not set."""
    name = os.environ.get(SETTING, "").strip()
    if not name:
        return
    try:
        from .registration import register

        register(name)
    except Exception as error:
        warnings.warn(f"{SETTING}={name}: no device was registered: {error}", RuntimeWarning, stacklevel=2)
