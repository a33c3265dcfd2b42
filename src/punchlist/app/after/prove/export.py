"""Export the evidence of a run as git notes."""

from punchlist.adapters.git.notes import REF, write_notes
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.safe_text import remove_secrets


async def export_notes(session: Session, run_id: str) -> str:
    """Attach the ledger to each of the run's commits; return what was done, in words."""
    run = session.load(run_id)
    commits = (*run.landing.commits, *(landed.commit for landed in run.landing.landed))
    content = b"".join(session.export(run.id))
    count = await write_notes(await session.workshop(), tuple(dict.fromkeys(commits)), content)
    if not count:
        raise UsageError(
            f"this repository has no commit of run {run.id}", hint="export it to a file: --to FILE"
        )
    return f"{pluralize(count, 'commit')} noted; share them with: git push origin {REF}"


def count_secrets(session: Session, run_id: str) -> int:
    """Return how many entries have texts that look like secrets."""
    lines = (line.decode(errors="replace") for line in session.export(run_id))
    return sum(remove_secrets(line) != line for line in lines)
