"""What the arguments of transformers' models look like: their shapes by name, and the sizes of the dimensions."""

import torch
from torch import nn

BATCH, PATCHES = 2, 16

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
        "f B C H W | f B 1 C H W | f B F C H W | f N P | f N C p p | f B n P | f B 2 C H W | f N f C p p"
    ),
    "pixel_values_videos": "f B F C H W | f N P | f N C p p | f B C F H W",
    "pixel_values_local": "f B C H W",
    "hidden_states": "f N P | f N D | f B L D",
    "pixel_attention_mask pixel_mask": "1 B H W | 1 B n",
    "pixel_position_ids image_position_ids": "g B n 2",
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


def field(config, *names, default=None):
    """The first of the fields that the configuration, or one inside it, has."""
    inside = [value for value in vars(config).values() if hasattr(value, "to_dict")]
    for name in names:
        for place in (config, *inside):
            value = getattr(place, name, None)
            if value is not None and not isinstance(value, bool):
                return value
    return default


def number(config, *names, default):
    """The first of the fields that holds a number, or a list of them: its last one."""
    value = field(config, *names)
    value = value[-1] if isinstance(value, (list, tuple)) and value else value
    return value if type(value) is int else default


def unique(*values):
    return list(dict.fromkeys(values))


def dimensions(model):
    """Symbol -> the sizes to try for it, the most likely first."""
    config = model.config
    layers = [(n, m) for n, m in model.named_modules() if isinstance(m, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d))]
    layers.sort(key=lambda layer: "patch" not in layer[0])  # what takes patches first
    first = layers[0][1].weight if layers else torch.empty(1, 1)
    image = field(config, "image_size", default=64)
    image = tuple(image)[-2:] if isinstance(image, (list, tuple)) else (image, image)
    channels = number(config, "num_channels", "in_channels", "in_chans", default=3)
    patch, patch_frames = number(config, "patch_size", default=16), number(config, "temporal_patch_size", default=1)
    width = number(config, "hidden_size", "d_model", default=64)
    lengths = [16, 128, 32, 64]
    if shape := field(config, "axial_pos_shape"):
        lengths.insert(0, shape[0] * shape[1])  # a length that the position embedding fixes in training
    sound = 2 * number(config, "max_source_positions", default=64)
    mels = number(config, "num_mel_bins", "num_mel_bands", "feature_size", "input_feat_per_channel", default=80)
    codebooks = number(config, "num_codebooks", "num_channels", default=1)
    past = number(config, "context_length", "prediction_length", default=16)
    return {
        "L": lengths,  # tokens of a text
        "I": unique(image, (64, 64), (224, 224), (128, 128)),  # height and width
        "F": unique(number(config, "num_frames", "frames_per_clip", default=4), 4),
        "C": [channels],
        "n": [PATCHES],  # patches of one image, of all images packed together, and what one holds
        "N": [BATCH * PATCHES],
        "P": unique(first[0].numel(), channels * patch_frames * patch**2),
        "p": [patch],
        "f": [patch_frames],
        "T": [3840, 16000],  # samples of a sound
        "T2": unique(number(config, "max_length", default=sound), sound, 128, 1024),  # its spectra
        "M": unique(mels, 128, 80, 64),  # the bands of one
        "Q": [codebooks, codebooks + 1],
        "S": [past + max(field(config, "lags_sequence", default=[0]))],  # a series, what follows it, its variables
        "E": [number(config, "prediction_length", default=16)],
        "V": [number(config, "num_input_channels", "input_size", default=1)],
        "K": [number(config, "num_time_features", default=1)],
        "D": [width],
        "e": [number(config, "encoder_hidden_size", default=width)],
        "w": unique(first.shape[1], first.shape[0]),  # what the first layer takes
        "X": [number(config, "state_dim", "max_state_dim", default=8)],
        "A": [number(config, "act_dim", default=4)],
        "v": [number(config, "visual_feat_dim", "visual_embedding_dim", default=64)],
    }


def make(kind, shape, sizes, config, generator):
    """One argument: what it holds, its shape in symbols, the sizes of the symbols."""
    sizes = {**sizes, "H": sizes["I"][0], "W": sizes["I"][1], "B": BATCH}
    sizes["BQ"] = BATCH * sizes["Q"]
    if kind == "g":
        side = int(PATCHES**0.5)
        return {
            "thw": torch.tensor([[1, side, side]] * BATCH),
            "hw": torch.tensor([[side, side]] * BATCH),
            "pixels": torch.tensor([sizes["I"]] * BATCH),
            "merge": torch.tensor([number(config, "spatial_merge_size", default=1)] * BATCH),
            "T2": torch.tensor([sizes["T2"]] * BATCH),
            "B n 2": torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1)
            .view(1, -1, 2)
            .expand(BATCH, -1, -1),
        }[shape]
    size = [sizes[symbol] if symbol in sizes else int(symbol) for symbol in shape.split()]
    if kind == "t":
        vocabulary = min(number(config, "vocab_size", default=256), 256)
        return torch.randint(3, max(vocabulary - 60, 10), size, generator=generator)
    if kind in "fu":
        return (torch.randn if kind == "f" else torch.rand)(*size, generator=generator)
    return torch.full(size, int(kind != "0"), dtype=torch.bool if kind == "b" else torch.long)
