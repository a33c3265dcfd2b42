"""What every store makes of the lines and ids that it reads."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from punchlist.errors import LedgerBroken, UsageError
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import Entry
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run_row import RunRow, match_run

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


def choose_run(known: Sequence[tuple[str, object]], part: str, repository: str) -> str:
    """Return the id that has this part; for "last" the first whose run is of this very clone, or
    else the first of all. Raise UsageError.
    """
    ids = [run for run, _ in known]
    if not ids:
        where = f"for {repository}" if repository else "yet"
        raise UsageError(f"no run is recorded {where}", hint="punchlist run")
    if part == "last":
        return next((run for run, own in known if own), ids[0])
    found = match_run(part, ids)
    if len(found) == 1:
        return found[0]
    listed = ", ".join((found or ids)[:_CANDIDATES])
    more = ", ..." if len(found or ids) > _CANDIDATES else ""
    problem = f'no run has "{part}" in its id; there are: {listed}{more}'
    hint = 'punchlist list, or "last" for the newest'
    if found:
        problem = f'{len(found)} runs have "{part}" in their id: {listed}{more}'
        hint = "give more of the id"
    raise UsageError(problem, hint=hint)
