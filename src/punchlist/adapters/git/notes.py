"""Evidence as git notes: one note per commit, under a ref of our own that users push and fetch."""

import time
from collections.abc import Sequence

from punchlist.adapters.git.command import error_text
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import RepositoryError

REF = "refs/notes/punchlist"


async def write_notes(workshop: Workshop, commits: Sequence[str], content: bytes) -> int:
    """Attach the content, stored once, to those of the commits that the user's repository has.
    Return how many these are.
    """
    git = workshop.checkout.git
    here = [each for each in commits if await workshop.checkout.resolve_commit(each)]
    blob = (await git.check_output("hash-object", "-w", "--stdin", stdin=content)).decode().strip()
    env = workshop.author_environment(f"@{int(time.time())} +0000")
    for commit in here:
        add = ("notes", f"--ref={REF}", "add", "--force", "--reuse-message", blob, commit)
        ran = await git.run(*add, env=env)
        if not ran.ok:
            raise RepositoryError(
                f"{commit[:12]}: its note cannot be written: {error_text(ran)}",
                hint="write the evidence to a file instead: punchlist export RUN --to FILE",
            )
    return len(here)


async def read_note(workshop: Workshop, commit: str) -> bytes | None:
    """Return the note of a commit, or None if it has none."""
    git = workshop.checkout.git
    blob = await git.find_line("notes", f"--ref={REF}", "list", commit)
    return await git.check_output("cat-file", "blob", blob) if blob else None
