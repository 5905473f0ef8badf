"""What `import torch` calls in every process of a program that is being recorded.

It comes in through the entry point group `torch.backends`, the door that torch opens for device backends:
so it reaches workers that are spawned or launched as well, and the program is not edited.
"""

import os
import warnings

RECORD = "TORCH_AGNOSTIC_RECORD"
"""The folder to which processes write what they record; nothing is recorded if it is not set."""
STEPS = "TORCH_AGNOSTIC_STEPS"
"""After how many optimizer steps a program is stopped."""
STAND_IN = "TORCH_AGNOSTIC_STAND_IN"
"""Set where the program is to believe that it has CUDA."""


def autoload() -> None:
    """Start recording if the setting asks for it. An exception would make `import torch` fail, so there is
    none.
    """
    folder = os.environ.get(RECORD, "")
    if not folder:
        return
    try:
        from agnostic.proof import recorder

        recorder.start(folder)
    except Exception as error:
        warnings.warn(f"{RECORD}={folder}: nothing is recorded: {error}", RuntimeWarning, stacklevel=2)
