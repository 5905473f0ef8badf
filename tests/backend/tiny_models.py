"""Tiny random models of every architecture in the installed transformers, and inputs for them."""

import inspect

import torch
from transformers import AutoConfig, AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING

LIMIT = 30_000_000  # parameters
HIDDEN, HEADS, LAYERS, VOCABULARY, IMAGE, PATCH = 32, 4, 2, 256, 64, 16

# What size fields are called across architectures, and a tiny value for each.
SIZES = {
    **dict.fromkeys(
        (
            "hidden_size",
            "d_model",
            "n_embd",
            "dim",
            "embed_dim",
            "hidden_dim",
            "embedding_size",
            "projection_dim",
            "encoder_hidden_dim",
            "decoder_hidden_dim",
            "decoder_hidden_size",
            "text_embed_dim",
            "vision_embed_dim",
            "encoder_dim",
            "decoder_dim",
            "emb_dim",
            "projection_size",
            "model_dim",
            "width",
            "d_embed",
            "rnn_hidden_size",
            "entity_emb_size",
            "out_hidden_size",
            "mm_hidden_size",
            "latent_dim",
            "q_lora_rank_size",
        ),
        HIDDEN,
    ),
    **dict.fromkeys(
        (
            "intermediate_size",
            "ffn_dim",
            "n_inner",
            "encoder_ffn_dim",
            "decoder_ffn_dim",
            "d_ff",
            "d_inner",
            "mlp_dim",
            "ffn_hidden_size",
            "moe_intermediate_size",
            "shared_expert_intermediate_size",
            "dim_feedforward",
            "encoder_ffn_embed_dim",
            "feed_forward_size",
            "ffn_size",
            "expert_ffn_hidden_size",
            "decoder_intermediate_size",
            "shared_intermediate_size",
            "decoder_ffn_embed_dim",
            "inner_dim",
        ),
        2 * HIDDEN,
    ),
    **dict.fromkeys(
        (
            "num_attention_heads",
            "n_head",
            "n_heads",
            "num_heads",
            "encoder_attention_heads",
            "decoder_attention_heads",
            "num_key_value_heads",
            "num_kv_heads",
            "encoder_num_attention_heads",
            "decoder_num_attention_heads",
            "num_key_value_attention_heads",
        ),
        HEADS,
    ),
    **dict.fromkeys(
        (
            "num_hidden_layers",
            "n_layer",
            "n_layers",
            "num_layers",
            "encoder_layers",
            "decoder_layers",
            "num_encoder_layers",
            "num_decoder_layers",
            "num_blocks",
            "encoder_num_hidden_layers",
            "depth",
            "decoder_num_hidden_layers",
            "num_hidden_groups",
            "num_block",
            "num_layers_decoder",
        ),
        LAYERS,
    ),
    **dict.fromkeys(("vocab_size", "src_vocab_size", "tgt_vocab_size", "text_vocab_size"), VOCABULARY),
    **dict.fromkeys(("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_topk", "n_group", "topk_group", "moe_k"), 1),
    "head_dim": HIDDEN // HEADS,
    "d_kv": HIDDEN // HEADS,
    "kv_channels": HIDDEN // HEADS,
    "attention_head_dim": HIDDEN // HEADS,
    "max_position_embeddings": 128,
    "n_positions": 128,
    "n_ctx": 128,
    "max_seq_len": 128,
    "entity_vocab_size": 64,
    "image_size": IMAGE,
    "patch_size": PATCH,
    "num_queries": 8,
    "num_query_tokens": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "qk_head_dim": 16,
}


def shrink(config, sizes, depth=0):
    """Set the size fields of a configuration and of those inside it; returns it."""
    for name, value in list(vars(config).items()):
        if hasattr(value, "to_dict") and depth < 4:
            shrink(value, sizes, depth + 1)
        elif name in sizes and isinstance(value, int) and not isinstance(value, bool):
            setattr(config, name, min(value, sizes[name]) if value > 0 else value)
        elif name in ("layer_types", "layers_block_type") and isinstance(value, list):
            setattr(config, name, [*dict.fromkeys(value), *value][:LAYERS])  # one layer of each kind, if they fit
        elif name.endswith("token_id") and isinstance(value, int) and value >= VOCABULARY:
            setattr(config, name, VOCABULARY - 1 - len(name) % 50)
    return config


def model_types():
    """Every model type that has an AutoModel."""
    return sorted(kind for kind, config in CONFIG_MAPPING.items() if config in MODEL_MAPPING)


MEDIUM = {**SIZES, **{name: 256 for name, value in SIZES.items() if value in (HIDDEN, 2 * HIDDEN)}}
MEDIUM = {name: value for name, value in MEDIUM.items() if name not in ("head_dim", "d_kv", "kv_channels")}
FEW_LAYERS = {name: value for name, value in SIZES.items() if value in (LAYERS, VOCABULARY)}


def builds(kind):
    """Yields (model, None) or (None, reason) for the tiny sizes, larger ones, fewer layers only, and the
    sizes as they are.

    Not every architecture can be as small as the first: a rotary dimension may be fixed, or a width tied to
    another.
    """
    for sizes in (SIZES, MEDIUM, FEW_LAYERS, {}):
        try:
            config = shrink(AutoConfig.for_model(kind), sizes)
            with torch.device("meta"):
                size = sum(p.numel() for p in AutoModel.from_config(config).parameters())
            if size > LIMIT:
                yield None, f"more than 30 M parameters ({size / 1e6:.0f} M)"
                continue
            torch.manual_seed(0)
            yield AutoModel.from_config(config), None
        except Exception as error:
            yield None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:120]


def field(config, *names, default=None):
    """The first of the fields that the configuration, or one inside it, has."""
    inside = [value for value in vars(config).values() if hasattr(value, "to_dict")]
    for place in (config, *inside):
        for name in names:
            value = getattr(place, name, None)
            if value is not None and not isinstance(value, bool):
                return value
    return default


def candidate_inputs(model):
    """Sets of keyword arguments to try, the most likely first."""
    config, accepted = model.config, set(inspect.signature(model.forward).parameters)
    vocabulary = min(int(field(config, "vocab_size", default=VOCABULARY) or VOCABULARY), VOCABULARY)
    image = field(config, "image_size", default=IMAGE)
    height, width = (image, image) if isinstance(image, int) else tuple(image)[-2:]
    channels = field(config, "num_channels", "in_channels", "in_chans", default=3)
    mels = field(config, "num_mel_bins", "feature_size", "input_feat_per_channel", "input_dim", default=80)
    generator = torch.Generator().manual_seed(0)

    def ids(length):
        return torch.randint(3, max(vocabulary - 60, 10), (2, length), generator=generator)

    def floats(*shape):
        return torch.randn(*shape, generator=generator)

    def add(chosen, **possible):
        if "use_cache" in accepted:
            possible["use_cache"] = False
        return {**chosen, **{name: value for name, value in possible.items() if name in accepted}}

    texts = [add({}, input_ids=ids(n), attention_mask=torch.ones(2, n, dtype=torch.long)) for n in (16, 32, 64, 128)]
    images = [add({}, pixel_values=floats(2, channels, h, w)) for h, w in ((height, width), (64, 64), (224, 224))]
    videos = [
        add({}, pixel_values=floats(2, field(config, "num_frames", default=4), channels, height, width)),
        add({}, pixel_values_videos=floats(1, 4, channels, height, width)),
    ]
    sounds = [
        add({}, input_values=floats(2, 4000)),
        add({}, input_values=floats(2, 1, 4000)),
        add({}, input_features=floats(2, mels, 2 * field(config, "max_source_positions", default=100))),
        add({}, input_features=floats(2, 100, mels), attention_mask=torch.ones(2, 100, dtype=torch.long)),
        add({}, input_values=floats(2, field(config, "max_length", default=64), mels)),
        add({}, input_features=floats(2, 1, 3000, 80)),
        add({}, audio_values=floats(2, 1, 4000)),
    ]
    length = field(config, "context_length", "prediction_length", default=16)
    series = [
        add({}, past_values=floats(2, length, field(config, "num_input_channels", default=1))),
        add({}, past_values=floats(2, 64), freq=torch.zeros(2, dtype=torch.long)),
    ]
    hidden = field(config, "hidden_size", "d_model", default=HIDDEN)
    others = [
        add({}, inputs_embeds=floats(2, 16, hidden)),
        add({}, hidden_states=floats(2, 16, hidden)),
        add({}, inputs=ids(16)),
        add({}, inputs=floats(2, 16, field(config, "d_model", default=HIDDEN))),
    ]
    patch = field(config, "patch_size", default=PATCH)
    patch = patch if isinstance(patch, int) else patch[-1]
    depth = field(config, "temporal_patch_size", default=1)
    patches = floats(16, channels * depth * patch * patch)
    grid = torch.tensor([[1, 4, 4]])
    for name in ("grid_thw", "image_grid_thw", "grid_thws"):
        if name in accepted and "input_ids" not in accepted:
            first = next(iter(inspect.signature(model.forward).parameters))
            others += [{first: patches, name: grid}, {first: floats(16, channels, patch, patch), name: grid}]
    mixed = [{**text, **image} for text in texts[:2] for image in images[:2] if text and image]
    mixed += [{**text, **sound} for text in texts[:1] for sound in sounds if text and sound]
    main = getattr(model, "main_input_name", "input_ids")
    singles = texts + images + videos + sounds + series + others
    singles.sort(key=lambda arguments: main not in arguments)
    for arguments in singles + mixed:
        if set(arguments) <= {"use_cache"}:
            continue
        yield arguments
        if "decoder_input_ids" in accepted:
            yield {**arguments, "decoder_input_ids": ids(8)}
        if "input_ids" in accepted and "input_ids" not in arguments:
            yield {**arguments, "input_ids": ids(16)}
        if "bbox" in accepted and "input_ids" in arguments:
            yield {**arguments, "bbox": torch.zeros(*arguments["input_ids"].shape, 4, dtype=torch.long)}
