"""A tiny configuration of any transformers architecture, from its default one.

Size fields are recognised by name (`SIZES`). What hangs together stays together: a width that was equal to
a shrunk one follows it, layer lists are cut, the parts of a rotary dimension still add up to it, and the
configuration is constructed anew from the small fields, so that it derives the others itself.
"""

import re
from typing import NamedTuple

from transformers import AutoConfig

WIDTH, HEADS, LAYERS, VOCABULARY, POSITIONS, IMAGE, PATCH = 64, 4, 2, 256, 256, 64, 16
STAGES_SHRINK = 4  # the widths of stages, and those of the layers that take them, shrink by one factor
MEDIUM_WIDTH = 192  # for architectures with a fixed part that does not fit into WIDTH; has the factor 3

# What size fields are called across architectures, by what they count.
NAMES = {
    "width": """hidden_size d_model n_embd dim embed_dim hidden_dim embedding_size projection_dim encoder_hidden_dim
        decoder_hidden_dim decoder_hidden_size text_embed_dim vision_embed_dim encoder_dim decoder_dim emb_dim
        projection_size model_dim width d_embed rnn_hidden_size entity_emb_size out_hidden_size mm_hidden_size
        latent_dim output_proj_dims""",
    "inner": """intermediate_size ffn_dim n_inner encoder_ffn_dim decoder_ffn_dim d_ff d_inner mlp_dim ffn_hidden_size
        moe_intermediate_size shared_expert_intermediate_size dim_feedforward encoder_ffn_embed_dim feed_forward_size
        ffn_size expert_ffn_hidden_size decoder_intermediate_size shared_intermediate_size decoder_ffn_embed_dim
        inner_dim intermediate_size_mlp""",
    "heads": """num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads
        num_key_value_heads num_kv_heads encoder_num_attention_heads decoder_num_attention_heads
        num_key_value_attention_heads mamba_n_heads mamba_num_heads n_mamba_heads linear_num_key_heads
        linear_num_value_heads""",
    "head width": """head_dim d_kv kv_channels attention_head_dim v_head_dim qk_nope_head_dim qk_rope_head_dim
        linear_key_head_dim linear_value_head_dim rotary_dim""",
    "layers": """num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_encoder_layers
        num_decoder_layers num_blocks encoder_num_hidden_layers depth decoder_num_hidden_layers num_hidden_groups
        num_block num_layers_decoder depths""",
    "vocabulary": """vocab_size src_vocab_size tgt_vocab_size text_vocab_size entity_vocab_size
        vocab_size_per_layer_input""",
    "experts": "num_local_experts num_experts n_routed_experts moe_num_experts",
    "chosen experts": "num_experts_per_tok moe_topk moe_k",
    "groups": "n_group topk_group num_expert_group n_groups mamba_n_groups mamba_ngroups",
    "state": "mamba_d_state mamba_chunk_size chunk_size state_size ssm_state_size",
    "positions": "max_position_embeddings n_positions n_ctx max_seq_len",
    "rank": "q_lora_rank kv_lora_rank",
    "image": "image_size",
    "patch": "patch_size",
    "horizon": "prediction_length",
    "shared layers": "num_kv_shared_layers",
    "image tokens": "mm_tokens_per_image",
    "window": "sliding_window",
    "image window": "window_size",
    "shared experts": "n_shared_experts num_shared_experts",
    "queries": "num_queries num_query_tokens",
}


def sizes(width):
    """Field name -> size, for models of this width."""
    values = {
        "width": width,
        "inner": 2 * width,
        "heads": HEADS,
        "head width": width // HEADS,
        "layers": LAYERS,
        "vocabulary": VOCABULARY,
        "experts": 4,
        "chosen experts": 2,
        "groups": 1,
        "state": 16,
        "positions": POSITIONS,
        "rank": 16,
        "image": IMAGE,
        "patch": PATCH,
        "horizon": 16,
        "shared layers": 0,
        "image tokens": 4,
        "window": 32,
        "image window": 2,
        "shared experts": 1,
        "queries": 8,
    }
    return {name: values[kind] for kind, names in NAMES.items() for name in names.split()}


SMALL, MEDIUM = sizes(WIDTH), sizes(MEDIUM_WIDTH)
FEW_LAYERS = {name: size for name, size in SMALL.items() if name in f"{NAMES['layers']} {NAMES['vocabulary']}".split()}
WIDTH_NAMES, HEAD_NAMES = NAMES["width"].split(), NAMES["heads"].split()
LAYER_NAMES = NAMES["layers"].split()
IMAGE_NAMES, PATCH_NAMES = NAMES["image"].split(), NAMES["patch"].split()
MODALITY = re.compile("image|audio|video|mask")
WIDTHS_LIKE = re.compile("hidden_sizes|channels|dims|embed_dim")  # of the stages of a model
WIDTH_LIKE = re.compile(r"hidden|embed|dim|width|channels|d_model|groups|_size$")


def is_configuration(value):
    return hasattr(value, "to_dict")


def followers(config, small):
    """Old width -> new width, of all width fields of a configuration and those inside it."""
    found = {}
    for name, value in vars(config).items():
        if is_configuration(value):
            found |= followers(value, small)
        elif type(value) is int and name in WIDTH_NAMES and value > small.get(name, value):
            found[value] = small[name]
    return found


class Scope(NamedTuple):
    """What the fields of one configuration are judged by."""

    small: dict[str, int]
    widths: dict[int, int]  # what widths elsewhere in the model became
    fill: bool  # give a size to what has none
    stages: bool  # the depths of stages are listed, so the counts of layers are counts of stages
    layers: int  # in the default configuration
    needed: int  # at least, because features of that layer are asked for

    @classmethod
    def of(cls, config, small, widths, fill):
        own = vars(config)
        layers = next((own[name] for name in LAYER_NAMES if type(own.get(name)) is int), 0)
        stages = re.findall(r"stage(\d+)", str(own.get("_out_features")))
        return cls(small, widths, fill, "depths" in own, layers, max([LAYERS, *map(int, stages)]))


def small_number(name, value, size, scope):
    """The small value of a field that holds a number, or None to leave it."""
    if name in (*LAYER_NAMES, "num_stages") and scope.stages:
        return value
    if size is not None:
        limit = scope.needed if name in LAYER_NAMES else size
        return min(value, limit) if value > 0 else value
    if is_token(name):
        return token_of(name, scope) if value >= scope.small["vocab_size"] else None
    return scope.widths.get(value) if WIDTH_LIKE.search(name) else None


def small_sequence(name, values, size, scope):
    """The small value of a field that holds a list, or None to leave it."""
    if len(values) == scope.layers > scope.needed and not scope.stages:
        kinds = [v for i, v in enumerate(values) if v not in values[:i]]
        return [*kinds, *values][: scope.needed]  # one layer of each kind, if they fit
    if not values or any(type(v) is not int for v in values):
        return None
    if name in IMAGE_NAMES:
        return [IMAGE] * len(values) if min(values) > IMAGE else None
    if name in HEAD_NAMES and size is not None:
        return [1 << (min(v, 16).bit_length() - 1) for v in values]  # of each stage; powers of two
    if size is not None and name not in WIDTH_NAMES + PATCH_NAMES:
        return [min(v, size if name == "depths" else max(size, len(values))) for v in values]
    if scope.small is SMALL and WIDTHS_LIKE.search(name) and len(set(values)) > 1:
        return [v // STAGES_SHRINK for v in values] if all(v % 32 == 0 for v in values) else values
    if len(set(values)) == 1 and values[0] in scope.widths:
        return [scope.widths[v] for v in values]
    return None


def small_value(name, value, size, scope):
    """The small value of a field, or None to leave it."""
    if type(value) is int:
        return small_number(name, value, size, scope)
    if isinstance(value, (list, tuple)):
        new = small_sequence(name, value, size, scope)
        return None if new is None else type(value)(new)
    if isinstance(value, dict) and "per_layer" in name:
        return {layer: v for layer, v in value.items() if int(layer) < scope.needed}
    if value is None and scope.fill:
        return token_of(name, scope) if size is None and is_token(name) and MODALITY.match(name) else size
    return None


def small_fields(config, small, widths, fill):
    """The fields of a configuration, and of those inside it, that are to change: name -> value."""
    fields, size_name = {}, {target: name for name, target in config.attribute_map.items()}
    scope = Scope.of(config, small, widths, fill)
    for name, value in vars(config).items():
        if is_configuration(value):
            fields[name] = small_fields(value, small, widths, fill)
        elif (new := small_value(name, value, small.get(name, small.get(size_name.get(name))), scope)) is not None:
            fields[name] = new
    keep_together(config, fields)
    return fields


def is_token(name):
    return name.endswith(("token_id", "token_index"))


def token_of(name, scope):
    """A token number of its own for each special token, at the end of the vocabulary."""
    return scope.small["vocab_size"] - 1 - sum(map(ord, name)) % 50


def keep_together(config, fields):
    """Set the fields that follow from others: the parts of a rotary dimension, the heads of a state-space layer."""

    def new(*names):
        values = (fields.get(name, vars(config).get(name)) for name in names)
        return next((value for value in values if type(value) is int), None)

    width, heads = new("hidden_size", "d_model"), new("num_attention_heads", "n_heads", "num_heads")
    rope = vars(config).get("rope_parameters")
    if rope and "mrope_section" in getattr(config, "ignore_keys_at_rope_validation", ()):
        total = int((new("qk_rope_head_dim", "head_dim") or width // heads) * rope.get("partial_rotary_factor", 1)) // 2
        fields["rope_parameters"] = {**rope, "mrope_section": [total - 2 * (total // 3), total // 3, total // 3]}
    if "axial_pos_embds_dim" in vars(config):
        fields["axial_pos_embds_dim"] = [width // 4, width - width // 4]
    if (expand := new("mamba_expand", "expand")) and width:
        states = new("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads")
        for name in ("mamba_d_head", "mamba_head_dim", "mamba_headdim"):
            if new(name) and states:
                fields[name] = expand * width // states
        if new("mamba_d_ssm"):
            fields["mamba_d_ssm"] = expand * width
        if new("head_dim") and states and not new("num_attention_heads"):
            fields["head_dim"] = expand * width // states


def construct(kind, fields):
    """A configuration with these fields; it derives its other fields from them."""

    def inside(config, fields):
        """The fields, with what a nested configuration had set already."""
        return {
            name: {**(nested := vars(config)[name]).to_diff_dict(), **inside(nested, value)}
            if is_configuration(vars(config)[name])
            else value
            for name, value in fields.items()
        }

    return AutoConfig.for_model(kind, **inside(AutoConfig.for_model(kind), fields))


def assign(kind, fields):
    """The default configuration with these fields set afterwards, for those that refuse to be constructed so."""

    def put(config, fields):
        for name, value in fields.items():
            inside = vars(config).get(name)
            put(inside, value) if is_configuration(inside) else setattr(config, name, value)
        return config

    return put(AutoConfig.for_model(kind), fields)


def tiny_configurations(kind):
    """Yields functions that make a configuration of this model type, the smallest first."""
    ways = (
        (construct, SMALL, False),
        (construct, SMALL, True),  # sizes without a default too
        (assign, SMALL, False),
        (assign, MEDIUM, False),
        (construct, FEW_LAYERS, False),
    )
    for make, small, fill in ways:

        def build(make=make, small=small, fill=fill):
            default = AutoConfig.for_model(kind)
            widths = followers(default, small) if make is construct else {}
            return make(kind, small_fields(default, small, widths, fill))

        yield build
