"""Arguments for the forward pass of any transformers architecture, found from its signature.

`arguments(model)` yields sets of arguments; the caller sends back the exception that a set led to, and the
next set is chosen by it. Three pieces of knowledge suffice: what an argument of a given name looks like
(`SHAPES`), that an argument named in an error or in the line that failed is missing, and that an error which
counts features asks for as many placeholder tokens.
"""

import inspect
import itertools
import re
import traceback

import torch
from torch import nn

BATCH, TRIES = 2, 48

# Argument name -> possible shapes, in symbols that `dimensions` gives a size. The first character says what
# it holds: `f` normal numbers, `u` numbers in [0, 1), `t` tokens, `1` integer ones, `0` integer zeros, `b` True.
SHAPES = {
    "input_ids": "t B L | t B L Q | t B Q L | t BQ L",
    "decoder_input_ids": "t B 8 | t B 8 Q | t BQ 8",
    "qformer_input_ids task_inputs tasks_input_ids classes_input_ids audio_input_ids ple_input_ids inputs": "t B L",
    "input_shape_ids input_pronunciation_ids": "t B L",
    "token_type_ids mm_token_type_ids moe_mm_token_type_ids timesteps": "0 B L",
    "attention_mask qformer_attention_mask tasks_attention_mask classes_attention_mask": "1 B L",
    "decoder_attention_mask": "1 B 8",
    "bbox": "0 B L 4",
    "pixel_values image high_res_pixel_values prompt_pixel_values": (
        "f B C H W | f B 1 C H W | f B F C H W | f N P | f N C p p | f B N P | f B 2 C H W | f N f C p p"
    ),
    "pixel_values_videos": "f B F C H W | f N P | f N C p p | f B C F H W",
    "pixel_values_local": "f B C H W",
    "hidden_states": "f N P | f N D | f B L D",
    "pixel_attention_mask pixel_mask": "1 B H W | 1 B N",
    "pixel_position_ids image_position_ids": "g B N 2",
    "image_attention_mask": "1 B L 1",
    "prompt_masks": "f B C H W",
    "grid_thw image_grid_thw video_grid_thw grid_thws": "g thw",
    "target_sizes spatial_shapes image_grid_hw": "g hw",
    "image_sizes": "g pixels",
    "merge_sizes image_merge_sizes": "g merge",
    "image_embeds_position_mask img_input_mask": "b B L",
    "input_values": "f B T | f B T2 M | f B 1 T | f B w T | f B w T2 | f B T2 w",
    "decoder_input_values": "f B 8 M",
    "input_features audio_mel": "f B M T2 | f B T2 M | f B T2 w | f B 1 T2 M | f B w T2 | f B C T2 M | f N M",
    "audio_values": "f B 1 T | f B T2 M",
    "input_features_mask audio_mel_mask feature_attention_mask padding_mask": "1 B T2 | 1 B T",
    "audio_feature_lengths": "g T2",
    "latents audio_latents": "f B w 16 | f B 16 w",
    "is_longer": "b B 1",
    "past_values": "f B S | f B S V",
    "past_time_features": "f B S K",
    "past_observed_mask": "1 B S | 1 B S V",
    "future_values": "f B E | f B E V",
    "future_time_features": "f B E K",
    "past_values_padding": "0 B S",
    "freq": "0 B 1",
    "states state": "f B L X | f B X",
    "actions": "f B L A",
    "rewards returns_to_go": "f B L 1",
    "inputs_embeds": "f B L D",
    "context_hidden_states encoder_hidden_states": "f B L e | f B L w",
    "query_embeds noise_embeds": "f B 8 D",
    "action_embeds": "f B 8 D",
    "visual_feats visual_embeds": "f B 8 v",
    "visual_pos": "u B 8 4",
    "input_points": "u B 1 1 2",
    "speaker_embeddings": "f B 512",
}
SHAPES = {name: shapes.split(" | ") for names, shapes in SHAPES.items() for name in names.split()}
MEDIA = ("pixel_values", "input_features", "input_values", "pixel_values_videos")
COMPANIONS = ("attention_mask", "mm_token_type_ids", "bbox")  # given wherever the text is


def field(config, *names, default=None):
    """The first of the fields that the configuration, or one inside it, has."""
    inside = [value for value in vars(config).values() if hasattr(value, "to_dict")]
    for name in names:
        for place in (config, *inside):
            value = getattr(place, name, None)
            if value is not None and not isinstance(value, bool):
                return value
    return default


def last(value):
    return value[-1] if isinstance(value, (list, tuple)) else value


def widths(config, *names):
    """The value of the first of the fields, in a list, or nothing."""
    value = field(config, *names)
    return [value] if isinstance(value, int) else []


def dimensions(model):
    """Lists of sizes to try, by symbol."""
    config = model.config
    layers = [(n, m) for n, m in model.named_modules() if isinstance(m, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d))]
    layers.sort(key=lambda layer: "patch" not in layer[0])  # what takes patches first
    first = layers[0][1].weight if layers else torch.empty(1, 1)
    image = field(config, "image_size", default=64)
    image = tuple(image)[-2:] if isinstance(image, (list, tuple)) else (image, image)
    patch = last(field(config, "patch_size", default=16))
    channels = field(config, "num_channels", "in_channels", "in_chans", default=3)
    channels = channels if isinstance(channels, int) else 3
    frames = field(config, "num_frames", "frames_per_clip", default=4)
    context = field(config, "context_length", "prediction_length", default=16)
    lags = field(config, "lags_sequence", default=[0])
    mels = field(config, "num_mel_bins", "num_mel_bands", "feature_size", "input_feat_per_channel", default=80)
    lengths = [16, 128, 32, 64]
    if shape := field(config, "axial_pos_shape"):
        lengths.insert(0, shape[0] * shape[1])
    sound = field(config, "max_source_positions", default=64)
    return {
        "L": lengths,
        "I": [*dict.fromkeys((image, (64, 64), (224, 224), (128, 128)))],
        "F": [*dict.fromkeys((frames, 4))],
        "T": [3840, 16000],
        "T2": [
            *dict.fromkeys((*widths(config, "max_length"), 2 * sound if isinstance(sound, int) else 128, 128, 1024))
        ],
        "M": [*dict.fromkeys((mels, 128, 80, 64))],
        "C": [channels],
        "N": [16],
        "P": [
            *dict.fromkeys(
                (first[0].numel(), channels * last(field(config, "temporal_patch_size", default=1)) * patch**2)
            )
        ],
        "w": [*dict.fromkeys((first.shape[1], first.shape[0]))],
        "p": [patch],
        "f": [last(field(config, "temporal_patch_size", default=1))],
        "Q": [books := field(config, "num_codebooks", "num_channels", default=1), books + 1],
        "S": [context + max(lags) if isinstance(context, int) else 64],
        "E": [field(config, "prediction_length", default=16)],
        "V": [field(config, "num_input_channels", "input_size", default=1)],
        "K": [field(config, "num_time_features", default=1)],
        "D": widths(config, "hidden_size", "d_model") or [64],
        "e": widths(config, "encoder_hidden_size") or widths(config, "hidden_size", "d_model") or [64],
        "X": [field(config, "state_dim", "max_state_dim", default=8)],
        "A": [field(config, "act_dim", default=4)],
        "v": [field(config, "visual_feat_dim", "visual_embedding_dim", default=64)],
    }


def make(kind, shape, sizes, config, generator):
    """One argument: what it holds, its shape in symbols, the sizes of the symbols."""
    sizes = {**sizes, "H": sizes["I"][0], "W": sizes["I"][1], "B": BATCH}
    sizes["BQ"] = BATCH * sizes["Q"]
    if kind == "g":
        side = int(sizes["N"] ** 0.5)
        return {
            "thw": torch.tensor([[1, side, side]]),
            "hw": torch.tensor([[side, side]] * BATCH),
            "pixels": torch.tensor([sizes["I"]] * BATCH),
            "merge": torch.tensor([field(config, "spatial_merge_size", default=1)]),
            "T2": torch.tensor([sizes["T2"]] * BATCH),
            "B N 2": torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1)
            .view(1, -1, 2)
            .expand(BATCH, -1, -1),
        }[shape]
    size = [sizes[symbol] if symbol in sizes else int(symbol) for symbol in shape.split()]
    if kind == "t":
        vocabulary = field(config, "vocab_size", default=256)
        vocabulary = min(vocabulary if isinstance(vocabulary, int) else 256, 256)
        return torch.randint(3, max(vocabulary - 60, 10), size, generator=generator)
    if kind in "fu":
        return (torch.randn if kind == "f" else torch.rand)(*size, generator=generator)
    return torch.full(size, int(kind != "0"), dtype=torch.bool if kind == "b" else torch.long)


def combinations(names, sizes):
    """Choices of one shape for each name and one size for each symbol: first the most likely ones, then those
    that differ from them in one place, and so on."""
    shapes = [[(name, shape) for shape in SHAPES[name]] for name in names]
    text = " ".join(shape for choices in shapes for _, shape in choices).replace("H W", "I")
    symbols = [symbol for symbol in sizes if symbol in text.split() and len(sizes[symbol]) > 1]
    axes = [*shapes, *([(symbol, size) for size in sizes[symbol]] for symbol in symbols)]
    choices = itertools.product(*(range(len(axis)) for axis in axes))
    for choice in itertools.islice(sorted(itertools.islice(choices, 4096), key=sum), TRIES):
        picked = dict(axis[i] for axis, i in zip(axes, choice, strict=True))
        yield (
            {name: picked[name] for name in names},
            {s: picked.get(s, values[0]) for s, values in sizes.items()},
        )


def clues(error, accepted):
    """Arguments that the message of an error, or the line that raised it, names."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/models/" in frame.filename]
    lines = [frame.line for frame in frames[-2:]]
    words = re.findall(r"\w+", f"{error} {' '.join(line or '' for line in lines)}")
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
