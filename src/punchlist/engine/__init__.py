"""The engine asks the step what may start, does it at most once, writes it down, and asks again."""

from punchlist.engine.cursor import At, Decide, position
from punchlist.engine.engine import Engine, Limits, Watcher

__all__ = ["At", "Decide", "Engine", "Limits", "Watcher", "position"]
