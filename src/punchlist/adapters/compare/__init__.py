"""Call old and new code with the same inputs and compare the results."""

from punchlist.adapters.compare.comparison import Comparison

__all__ = ["Comparison"]
