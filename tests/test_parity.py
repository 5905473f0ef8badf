"""Without an accelerator a rewritten program prints what the original printed.

Each snippet runs on the installed CPU-only torch as it is, with its safe fixes, and with all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agnostic.config import Settings
from agnostic.fix import fix_bytes

torch = pytest.importorskip("torch")
if torch.accelerator.is_available():
    pytest.skip("this machine has an accelerator", allow_module_level=True)

SETTINGS = Settings(root=Path("/nowhere"), profile="generic")

SNIPPETS = {
    "idiom": """
        device = "cuda" if torch.cuda.is_available() else "cpu"
        print(torch.ones(2, device=device).device)
    """,
    "idiom as a device": """
        device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
        print(device.type, torch.nn.Linear(2, 2).to(device).weight.device)
    """,
    "guard": """
        model = torch.nn.Linear(2, 2)
        if torch.cuda.is_available():
            model = model.cuda()
        print(next(model.parameters()).device)
    """,
    "guard with else": """
        if torch.cuda.is_available():
            torch.cuda.synchronize()
            print("synchronized")
        else:
            print("nothing to wait for")
    """,
    "early return": """
        def report():
            if not torch.cuda.is_available():
                return "no device"
            torch.cuda.synchronize()
            return torch.cuda.device_count()
        print(report())
    """,
    "device count": """
        print(torch.cuda.device_count(), max(1, torch.cuda.device_count()))
    """,
    "empty cache": """
        torch.cuda.empty_cache()
        print("done")
    """,
    "empty cache in a function": """
        def clean():
            torch.cuda.empty_cache()
        print(clean())
    """,
    "memory": """
        print(torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved())
    """,
    "memory in a format": """
        print(f"{torch.cuda.max_memory_allocated() / 2**20:.1f} MB")
    """,
    "memory statistics": """
        print(len(torch.cuda.memory_stats()))
    """,
    "seeds": """
        torch.manual_seed(3)
        torch.cuda.manual_seed(3)
        torch.cuda.manual_seed_all(3)
        print(torch.rand(3))
    """,
    "seed without the generic one": """
        torch.manual_seed(1)
        torch.rand(1)
        torch.cuda.manual_seed_all(7)
        print(torch.rand(3))
    """,
    "states of generators": """
        states = torch.cuda.get_rng_state_all()
        torch.cuda.set_rng_state_all(states)
        print(len(states))
    """,
    "autocast off": """
        with torch.cuda.amp.autocast(enabled=False):
            print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
    """,
    "autocast": """
        with torch.autocast("cuda", enabled=torch.cuda.is_available()):
            print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
    """,
    "scaler off": """
        scaler = torch.cuda.amp.GradScaler(enabled=False)
        print(scaler.scale(torch.ones(1)), scaler.is_enabled())
    """,
    "scaler for CUDA only": """
        scaler = torch.cuda.amp.GradScaler(enabled=torch.cuda.is_available())
        print(scaler.scale(torch.ones(1)), scaler.is_enabled())
    """,
    "pinned memory": """
        data = torch.utils.data.TensorDataset(torch.arange(4.0))
        loader = torch.utils.data.DataLoader(data, batch_size=2, pin_memory=torch.cuda.is_available())
        print([batch[0].tolist() for batch in loader])
    """,
    "loading": """
        import io
        buffer = io.BytesIO()
        torch.save(torch.ones(2), buffer)
        buffer.seek(0)
        print(torch.load(buffer, map_location="cuda" if torch.cuda.is_available() else "cpu"))
    """,
    "backend": """
        print("nccl" if torch.cuda.is_available() else "gloo")
    """,
    "is_cuda": """
        x = torch.ones(2)
        print(x.is_cuda, x.device.type == "cuda")
    """,
    "switches": """
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = True
        print("set")
    """,
    "bfloat16": """
        print(torch.cuda.is_available() and torch.cuda.is_bf16_supported())
    """,
    "argument": """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--no-cuda", action="store_true")
        args = parser.parse_args([])
        use_cuda = not args.no_cuda and torch.cuda.is_available()
        device = torch.device("cuda" if use_cuda else "cpu")
        print(device, use_cuda)
    """,
    "training": """
        torch.manual_seed(0)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = torch.nn.Linear(4, 1).to(device)
        scaler = torch.cuda.amp.GradScaler(enabled=torch.cuda.is_available())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            with torch.cuda.amp.autocast(enabled=torch.cuda.is_available()):
                loss = model(torch.ones(2, 4, device=device)).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            print(f"{loss.item():.6f}")
        torch.cuda.empty_cache()
    """,
}

RUNNER = """
import contextlib, io, json, sys, warnings
warnings.simplefilter("ignore")
printed = {}
for name, text in json.load(sys.stdin).items():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(text, name, "exec"), {"__name__": name})
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    printed[name] = out.getvalue()
print(json.dumps(printed))
"""


def text_of(snippet: str) -> str:
    lines = snippet.strip("\n").splitlines()
    return "import torch\n" + "".join(f"{line[8:]}\n" for line in lines if line.strip())


def run(texts: dict[str, str]) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", RUNNER], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def rewritten(text: str, unsafe: bool) -> str:
    return fix_bytes(Path("snippet.py"), text.encode(), SETTINGS, unsafe).after.decode()


@pytest.fixture(scope="module")
def printed() -> dict[str, dict[str, str]]:
    texts = {name: text_of(snippet) for name, snippet in SNIPPETS.items()}
    return {
        "original": run(texts),
        "safe": run({name: rewritten(text, False) for name, text in texts.items()}),
        "all": run({name: rewritten(text, True) for name, text in texts.items()}),
    }


@pytest.mark.parametrize("name", SNIPPETS)
def test_an_original_runs(name: str, printed: dict[str, dict[str, str]]) -> None:
    assert printed["original"][name]
    assert "Error" not in printed["original"][name]


@pytest.mark.parametrize("fixes", ["safe", "all"])
@pytest.mark.parametrize("name", SNIPPETS)
def test_a_rewrite_prints_the_same(name: str, fixes: str, printed: dict[str, dict[str, str]]) -> None:
    assert printed[fixes][name] == printed["original"][name], rewritten(text_of(SNIPPETS[name]), fixes == "all")


def test_most_snippets_are_rewritten() -> None:
    """So that the comparison above is about something."""
    changed = [name for name, text in SNIPPETS.items() if rewritten(text_of(text), True) != text_of(text)]
    assert len(changed) >= 0.8 * len(SNIPPETS)
