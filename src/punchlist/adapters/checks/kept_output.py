"""What is kept of a check's output: both streams, what failed first of all, and never more than a
person can open.
"""

import re

from punchlist.adapters.process.bounded_output import bounded
from punchlist.adapters.process.run import Ran

LIMIT = 1 << 20
_FAILURES = re.compile(r"^=+ (FAILURES|ERRORS) =+$|^={60,}\n(FAIL|ERROR): ", re.MULTILINE)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def both(ran: Ran) -> str:
    """The two streams as one text, the second named where there are two."""
    out, err = (
        _ANSI.sub("", stream.decode(errors="replace")) for stream in (ran.stdout, ran.stderr)
    )
    if not err.strip():
        return out
    return f"{out.rstrip()}\n--- standard error ---\n{err}" if out.strip() else err


def trimmed(output: str) -> str:
    """From the first failure on, where the runner marks it; over 1 MiB the first and last lines,
    and how much is missing.
    """
    found = _FAILURES.search(output)
    text = output[found.start() :] if found else output
    return bounded(text.encode(errors="replace"), LIMIT).decode(errors="replace")
