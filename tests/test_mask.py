"""The mask is a speed-up only: what is found in the masked text is what is found in the whole."""

from __future__ import annotations

import ast
import importlib.util
import random
from pathlib import Path

import pytest

from agnostic.check import check_text
from agnostic.config import Settings
from agnostic.mask import Lines, mask, triggers

SETTINGS = Settings(root=Path("/nowhere"), profile="generic", comments=True)

ALIASES = {
    "import": "import torch.cuda as c\nx = 1\nc.synchronize()\n",
    "from import": "from torch import cuda as c\nx = 1\nc.synchronize()\n",
    "parentheses": "from torch import (\n    nn,  # (layers)\n    cuda as c,\n)\nx = 1\nc.synchronize()\n",
    "continued line": "from torch import nn, \\\n    cuda as c\nx = 1\nc.synchronize()\n",
    "assignment": "import torch\nc = torch.cuda\nx = 1\nc.synchronize()\n",
    "assignment through an alias": "import torch as t\nu = t\nc = u.cuda\nx = 1\nc.synchronize()\n",
    "behind a semicolon": "import torch; c = torch.cuda\nx = 1\nc.synchronize()\n",
    "behind a colon": "import torch\nif x: c = torch.cuda\nx = 1\nc.synchronize()\n",
    "walrus": "import torch\nif (c := torch.cuda):\n    x = 1\n    c.synchronize()\n",
    "rebound": "from torch import device\ndevice = str\nx = 1\nprint(device('cuda'))\n",
    "rebound by import": "import torch\nx = 1\nimport tensorflow as torch\ntorch.cuda.synchronize()\n",
    "rebound by a loop": "import torch\nfor torch in y:\n    pass\ntorch.cuda.synchronize()\n",
    "parameter": "import torch\ndef f(torch):\n    x = 1\n    torch.cuda.synchronize()\n",
    "parameter of a function": "import torch\ndef f(device: str):\n    x = 1\nf('cuda')\n",
    "import of its own": "import contextlib\nimport torch\nx = 1\nwith torch.cuda.stream(y):\n    pass\n",
    "attribute": "import torch\nclass A:\n    def f(self):\n        self.s = None\n    def g(self):\n"
    "        self.s = torch.cuda.Stream()\n    def h(self):\n        with torch.cuda.stream(self.s):\n            1\n",
    "object": "import torch\nclass A:\n    def cuda(self):\n        x = 1\na = A()\nx = 1\na.cuda()\n",
    "global": "def f():\n    global c\n    import torch.cuda as c\ndef g():\n    x = 1\n    c.seed()\n",
}


@pytest.mark.parametrize("text", ALIASES.values(), ids=ALIASES)
def test_names_are_followed_through_the_mask(text: str) -> None:
    masked, whole = (check_text(Path("example.py"), text, SETTINGS, whole=whole)[0] for whole in (False, True))
    assert masked == whole


def test_statements_without_a_trigger_become_strings_of_their_height() -> None:
    text = "import os\nx = (1,\n     2)\nif y:\n    salt(z)\n    a = 1\nelse:\n    b = 2\n"
    lines = Lines(text)
    masked, _ = mask(lines, ast.parse(text), triggers(lines, ["salt"], ["sea"], []))
    assert masked == '"""\n\n"""\nif y:\n    salt(z)\n    """"""\nelse:\n    """"""\n'


@pytest.mark.slow
def test_masked_and_whole_text_give_the_same_findings_in_real_code() -> None:
    torch = importlib.util.find_spec("torch")
    assert torch is not None
    assert torch.origin is not None
    files = sorted(Path(torch.origin).parent.rglob("*.py"))
    differing = []
    for path in random.Random(20).sample(files, 150):
        text = path.read_text(encoding="utf-8")
        if len(text) < 200_000:
            masked, whole = (check_text(path, text, SETTINGS, whole=whole)[0] for whole in (False, True))
            differing += [str(path)] * (masked != whole)
    assert not differing
