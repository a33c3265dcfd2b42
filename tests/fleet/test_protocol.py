"""Workers of another version must be able to drive a run, or leave it alone."""

from hashlib import sha256
from typing import get_args

import msgspec

from punchlist.adapters.postgres.workflows import PROTOCOL
from punchlist.model.ledger.events import AnyEvent
from punchlist.settings import LoadedSettings

SHAPES = {7: "23f5dbc48427e601"}
"""By protocol: what a worker must be able to read."""


def test_the_protocol_is_raised_with_what_an_older_worker_cannot_read():
    """The names of all settings and events: an older worker refuses a run with one it does not know."""
    kinds = [LoadedSettings, *get_args(AnyEvent)]
    _, parts = msgspec.json.schema_components(kinds)
    names = sorted(
        f"{part}.{name}" for part, about in parts.items() for name in about.get("properties", {})
    )
    shape = sha256("\n".join(names).encode()).hexdigest()[:16]
    assert SHAPES.get(PROTOCOL) == shape, (
        f"raise PROTOCOL, and let SHAPES be {{{PROTOCOL + 1}: {shape!r}}}"
    )
