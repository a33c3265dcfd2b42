"""punchlist prove: execute again what commits claim."""

from collections.abc import Iterator
from pathlib import Path

import click

from punchlist.app.after.prove.attest import make_encoder
from punchlist.app.after.prove.prove import Choices, prove_commits
from punchlist.app.after.prove.verdict import CommitVerdict, ProofReport, Verdict
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import with_session
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import print_result, write_file
from punchlist.errors import UsageError

_EXITS = {
    Verdict.AGREE: Exit.FINE,
    Verdict.DISAGREE: Exit.LEFT,
    Verdict.CANNOT_TELL: Exit.INCOMPLETE,
}
_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@click.command()
@click.argument("named", metavar="[COMMIT|RANGE]", default="HEAD")
@click.option(
    "--evidence",
    metavar="FILE",
    type=_FILE,
    help="What `punchlist export` wrote. Default: the commit's note, else the ledger here.",
)
@options.flag("--yes", "allow", help="Let the checks found here run, without asking.")
@click.option(
    "--base",
    metavar="REV",
    default="",
    help="Compare with this commit. Default: where the range left the main branch here.",
)
@options.flag(
    "--allow-unclaimed", help="Leave commits of the range that claim nothing out of the verdict."
)
@click.option(
    "--attest",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the result as an in-toto statement (test-result).",
)
@click.option(
    "--key", metavar="FILE", type=_FILE, help="Sign it with this Ed25519 key (PEM), as DSSE."
)
@options.json_option
@with_session()
async def command(
    session: Session,
    named: str,
    evidence: Path | None,
    allow: bool,
    base: str,
    allow_unclaimed: bool,
    attest: Path | None,
    key: Path | None,
    json_: bool,
) -> Exit:
    """Execute again what the trailers of punchlist's commits claim.

    Analyzers must report each finding on the parent and be silent on the commit, tests must be as
    green as on the parent, a regression test must be red, green and red again, and the end of the
    range must have no finding that its base lacks. Works in any clone that has the evidence; the
    base, the checks and the analyzers are chosen here, never by the evidence.
    """
    if key and not attest:
        raise UsageError("--key signs an attestation", hint="add --attest FILE")
    encode_statement = make_encoder(key)
    given = _read(evidence) if evidence else None
    choices = Choices(allow=allow, base=base, allow_unclaimed=allow_unclaimed)
    report = await prove_commits(session, named, given=given, choices=choices)
    if attest:
        write_file(attest, [encode_statement(report), b"\n"], hint="give another file")
    print_result(report, _describe(report), json=json_)
    return _EXITS[report.verdict]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"--evidence {path}: cannot be read: {error.strerror}") from error


def _describe(report: ProofReport) -> Iterator[str]:
    for commit in report.commits:
        yield from _describe_commit(commit)
    if report.skipped and report.unclaimed_allowed:
        yield f"{report.skipped} more commits claim nothing; they were left out."
    if report.base:
        yield f"Base: {report.base[:12]}, {report.chosen}"
    yield from (f"note: {one_line(each)}" for each in report.noted)
    yield from (f"against it: {one_line(each)}" for each in report.faults)
    yield f"All together: {report.verdict}"


def _describe_commit(commit: CommitVerdict) -> Iterator[str]:
    why = f": {one_line(commit.said)}" if commit.said else ""
    yield f"{commit.commit[:12]}  {commit.verdict}{why}"
    for claim in commit.claims:
        yield f"  item {claim.item} {claim.claim}: {claim.verdict} ({one_line(claim.said)})"
    yield from (f"  against it: {one_line(each)}" for each in commit.faults)
    yield from (f"  note: {one_line(each)}" for each in commit.noted)
