"""Texts that several verbs need."""

from collections.abc import Sequence


def join_few(names: Sequence[str], most: int = 3) -> str:
    """Join the first names, and say how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
