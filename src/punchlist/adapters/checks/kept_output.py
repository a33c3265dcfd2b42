"""Select what is stored of a check's output: both streams, from the first failure, up to 1 MiB."""

import re

from punchlist.adapters.process.bounded_output import limit_text
from punchlist.adapters.process.run import ProcessResult
from punchlist.adapters.sandbox.profiles import PROFILES, ChildKind

LIMIT = PROFILES[ChildKind.CHECK].quotas.output
_FAILURES = re.compile(r"^=+ (FAILURES|ERRORS) =+$|^={60,}\n(FAIL|ERROR): ", re.MULTILINE)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def join_streams(ran: ProcessResult) -> str:
    """Join stdout and stderr into one text; stderr gets a heading if both have text."""
    out, err = (
        _ANSI.sub("", stream.decode(errors="replace")) for stream in (ran.stdout, ran.stderr)
    )
    if not err.strip():
        return out
    return f"{out.rstrip()}\n--- standard error ---\n{err}" if out.strip() else err


def trim_output(output: str) -> str:
    """Cut what comes before the first failure; over 1 MiB only the first and last lines stay."""
    found = _FAILURES.search(output)
    text = output[found.start() :] if found else output
    return limit_text(text.encode(errors="replace"), LIMIT).decode(errors="replace")
