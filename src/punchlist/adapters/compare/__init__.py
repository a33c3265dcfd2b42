"""Old and new code called side by side with the same inputs."""

from punchlist.adapters.compare.comparison import Comparison

__all__ = ["Comparison"]
