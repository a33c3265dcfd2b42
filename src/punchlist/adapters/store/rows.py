"""What every store makes of the lines and ids that it reads."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from punchlist.errors import LedgerBroken, UsageError
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import Entry
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run_row import RunRow

_CANDIDATES = 10


def decode_line(line: bytes, where: str) -> Entry:
    try:
        return wire.decode(line, Entry)
    except msgspec.MsgspecError as error:
        problem = f"{where}: a line of the ledger is damaged: {error}"
        raise LedgerBroken(problem, hint="`punchlist audit` says which") from error


def fold_course(row: RunRow, lines: Iterable[bytes]) -> RunRow:
    """Return the row with what the fold of its questions, answers and stops says."""
    run = fold_entries(row.id, (decode_line(line, row.id) for line in lines))
    return replace(row, waits=run.waits, paused=run.paused)


def choose_run(ids: Sequence[str], prefix: str, repository: str) -> str:
    """Return the id that begins so, or the first for "last"; raise UsageError."""
    if not ids:
        where = f"for {repository}" if repository else "yet"
        raise UsageError(f"no run is recorded {where}", hint="punchlist run")
    if prefix == "last":
        return ids[0]
    found = [run for run in ids if prefix and run.startswith(prefix)]
    if prefix in ids or len(found) == 1:
        return prefix if prefix in ids else found[0]
    listed = ", ".join((found or ids)[:_CANDIDATES])
    problem = f'no run begins with "{prefix}"; there are: {listed}'
    hint = 'punchlist list, or "last" for the newest'
    if found:
        problem = f'{len(found)} runs begin with "{prefix}": {listed}'
        hint = "give more of the id"
    raise UsageError(problem, hint=hint)
