"""Rules about cooking: the engine knows nothing of what it looks for."""

PACKAGES = ("kitchen",)
EVIDENCE = ()
NAMES = {"season", "grill", "turn", "twist", "twist_again", "stew", "oven"}


def profile(file: object) -> None:
    """There are no house styles in this kitchen."""


def known(name: str, release: tuple[int, ...]) -> bool:
    """Whether the kitchen has something."""
    return name.removeprefix("kitchen.") in NAMES or name == "kitchen"


def veto(file: object, node: object) -> str:
    """Everything may be changed in this kitchen."""
    return ""
