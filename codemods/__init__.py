"""The knowledge: `api.toml` maps the CUDA-only API, each file here is one rule, `profiles` are house styles."""

from codemods.knowledge.api import known
from codemods.knowledge.profile import profile
from codemods.knowledge.veto import veto

__all__ = ["EVIDENCE", "PACKAGES", "known", "profile", "veto"]

PACKAGES = ("torch",)
"""The package through which the rules resolve names."""

EVIDENCE = (r"device\w*[ \t]*(?::[^=\n]+)?=(?!=)", r"accelerator\b", r"manual_seed\b")
"""What rules reuse or rely on besides their tokens: devices that are set, and code that is generic already."""
