"""Which rules of different tools name the same defect."""

from functools import lru_cache


@lru_cache(maxsize=16384)
def kind(rule: str) -> str:
    """The name of the defect a rule is about, the same for every tool that has such a rule."""
    return rule.strip()
