"""The compiled C++ core, loaded when this module is first imported."""

import torch

from . import build

_path = build.locate(torch.__version__)
if _path is None:
    raise ImportError(
        "the reference backend has not been built for this torch yet; run `torch-agnostic backend build` once"
    )
C = build.load(_path)
