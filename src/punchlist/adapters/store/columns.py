"""Compare the columns of the ledger's tables with the lines, which alone are hashed."""

from collections.abc import Iterator, Mapping

from msgspec import MsgspecError, Struct, field

from punchlist.model.ledger import codec as wire


class _Kind(Struct, frozen=True):
    kind: str = ""
    repository: str = ""
    identity: str = ""


class _EntryLine(Struct, frozen=True):
    run: str
    seq: int
    at: float
    place: str
    key: str
    hash: str
    event: _Kind = field(default_factory=_Kind)


def compare_columns(columns: Mapping[str, object], line: bytes) -> Iterator[str]:
    """Yield what the columns of an entry say and its line does not."""
    try:
        entry = wire.decode(line, _EntryLine)
    except (MsgspecError, UnicodeDecodeError):
        return  # the laws of the lines say that it is none
    for name, value in columns.items():
        said = entry.event.kind if name == "kind" else getattr(entry, name)
        if said != value or isinstance(said, str) is not isinstance(value, str):
            yield (
                f"entry {entry.seq}: the table says {name} is {value!r:.80}, its line {said!r:.80}"
            )


def compare_run_row(row: tuple[object, ...], line: bytes) -> Iterator[str]:
    """Yield what the row of a run (id, repository, start, identity) says and its first line does
    not.
    """
    try:
        entry = wire.decode(line, _EntryLine)
    except (MsgspecError, UnicodeDecodeError):
        return
    said = {"id": entry.run, "repository": entry.event.repository, "start": entry.at}
    said["identity"] = entry.event.identity
    for (name, told), value in zip(said.items(), row, strict=True):
        if told != value:
            yield (
                f"the table says the run's {name} is {value!r:.80}, its first entry {told!r:.80}"
            )
