"""What the doctor saw of one thing, and what the user can type about it."""

from msgspec import Struct


class Probe(Struct, frozen=True, kw_only=True):
    name: str
    found: bool
    version: str = ""
    note: str = ""
    needed: bool = False
    mark: str = ""
    """In the place of `found` or `missing`."""
    remedy: str = ""
    """What to type so that it works, or works better; empty where nothing needs to be done."""
    works: str = ""
    """What can be done because of it, in a few words."""
