"""Inputs for the forward pass of any transformers architecture, found by trying.

The signature and the main input name say where to begin. A failure says how to go on: an argument that its
message or the line that raised it names is missing, and an error that counts features asks for as many
placeholder tokens in the text.
"""

import inspect
import itertools
import linecache
import re
import traceback

import torch
from tiny_arguments import SHAPES, dimensions, field, make

TRIES = 48  # from one beginning
MEDIA = ("pixel_values", "input_features", "input_values", "pixel_values_videos")
COMPANIONS = ("attention_mask", "mm_token_type_ids", "bbox")  # go with the text


def combinations(names, sizes):
    """Choices of one shape for each name and one size for each symbol: first the most likely ones, then those
    that differ from them in one place, and so on."""
    shapes = [[(name, shape) for shape in SHAPES[name]] for name in names]
    text = " ".join(shape for choices in shapes for _, shape in choices).replace("H W", "I")
    symbols = [symbol for symbol in sizes if symbol in text.split() and len(sizes[symbol]) > 1]
    axes = [*shapes, *([(symbol, size) for size in sizes[symbol]] for symbol in symbols)]
    choices = itertools.product(*(range(len(axis)) for axis in axes))
    seen = set()
    for choice in sorted(itertools.islice(choices, 4096), key=sum):
        picked = dict(axis[i] for axis, i in zip(axes, choice, strict=True))
        shape = {name: picked[name] for name in names}
        used = " ".join(shape.values()).replace("H W", "I").split()
        same = (*shape.values(), *(picked[s] for s in symbols if s in used))
        if same not in seen:
            seen.add(same)
            yield shape, {s: picked.get(s, values[0]) for s, values in sizes.items()}


def statement(frame):
    """The source of what failed, which may span lines."""
    return " ".join(
        linecache.getline(frame.filename, n) for n in range(frame.lineno, (frame.end_lineno or frame.lineno) + 1)
    )


def clues(error, accepted):
    """Arguments that the message of an error, or the statements that raised it, name."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/transformers/" in frame.filename]
    words = re.findall(r"\w+", f"{error} {' '.join(statement(frame) for frame in frames[-3:])}")
    words = [word for word in dict.fromkeys(words) if len(word) > 3]
    return [name for word in words for name in accepted if name in SHAPES and f"_{name}".endswith(f"_{word}")]


def placeholders(error, config):
    """(token, how many) that an error about placeholder tokens asks for, or None."""
    found = re.search(r"(\w+) features and .*tokens do not match.*features:? (\d+)", str(error))
    if not found:
        return None
    kind = found[1].lower() if found[1] != "Multimodal" else "image"
    token = field(config, f"{kind}_token_id", f"{kind}_token_index")
    return None if token is None else (token, int(found[2]))


def starting_sets(model, accepted):
    """Sets of argument names to begin with: everything that a model looks at, then only what it must have."""
    required = [name for name, p in accepted.items() if p.default is p.empty and name in SHAPES]
    main = getattr(model, "main_input_name", "input_ids")
    main = [name for name in ([main] if isinstance(main, str) else main) if name in accepted and name in SHAPES]
    text = [name for name in ("input_ids", "decoder_input_ids") if name in accepted]
    media = [name for name in MEDIA if name in accepted]
    for names in (required + text + media[:1], required + main, required + main + text[:1], required + media, text):
        yield frozenset(names)


def search(model, attempt):
    """(arguments, errors): the first arguments for which `attempt(arguments)` returns no error, or None."""
    accepted = {
        name: p
        for name, p in inspect.signature(model.forward).parameters.items()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }
    sizes, seen, errors = dimensions(model), set(), []
    for start in starting_sets(model, accepted):
        queue, end = [start], len(errors) + TRIES
        while queue and len(errors) < end:
            names = queue.pop(0)
            if not names or names in seen:
                continue
            seen.add(names)
            names = names | {name for name in COMPANIONS if name in accepted and "input_ids" in names}
            for shapes, chosen in combinations(sorted(names), sizes):
                arguments, error = fitted(model, shapes, chosen, attempt)
                if error is None:
                    return arguments, errors
                errors.append(error)
                fresh = [names | {clue} for clue in clues(error, accepted) if clue not in names]
                if fresh := [names for names in fresh if names not in seen]:
                    queue[:0] = fresh
                    break
                if len(errors) >= end:
                    break
    return None, errors


def fitted(model, shapes, sizes, attempt):
    """(arguments, error) of these shapes, with the placeholder tokens that a model asks for."""
    token, count = None, 0
    for _ in range(3):  # placeholder tokens are counted by failing
        generator = torch.Generator().manual_seed(0)
        arguments = {name: make(shape[0], shape[2:], sizes, model.config, generator) for name, shape in shapes.items()}
        if token is not None:
            fill(arguments, token, count)
        if "use_cache" in inspect.signature(model.forward).parameters:
            arguments["use_cache"] = False
        error = attempt(arguments)
        wanted = placeholders(error, model.config) if error is not None else None
        if wanted is None or "input_ids" not in arguments:
            return arguments, error
        if wanted == (token, count):  # some messages count numbers, not vectors
            wanted = (token, count // sizes["D"])
        token, count = wanted
    return arguments, error


def fill(arguments, token, count):
    """Put as many placeholder tokens as there are features into the text."""
    ids = arguments["input_ids"]
    each, rest = divmod(count, len(ids))
    room = max(each + 4 - ids.shape[1], 0)
    for name in ("input_ids", *COMPANIONS):
        if name in arguments and arguments[name].dim() == 2:
            arguments[name] = torch.cat([arguments[name], arguments[name][:, :1].expand(-1, room)], 1)
    arguments["input_ids"][:, 2 : 2 + each] = token
    if rest:
        arguments["input_ids"][0, 2 + each : 2 + each + rest] = token
    if "mm_token_type_ids" in arguments:
        arguments["mm_token_type_ids"] = (arguments["input_ids"] == token).long()
