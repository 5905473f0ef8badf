"""What is read of the rules without importing them is what they are."""

from __future__ import annotations

from agnostic.rule import declared, load


def test_declared_tokens_are_the_tokens_of_the_rules() -> None:
    assert declared() == {code: rule.tokens for code, rule in load().rules.items()}
