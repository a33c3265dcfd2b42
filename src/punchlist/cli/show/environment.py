"""Show what `punchlist setup` does, ask for it, and do it."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from punchlist.app.session import Session
from punchlist.app.start.environment import make_environment, plan_environment
from punchlist.cli.show.question import ask_choice
from punchlist.cli.show.words import one_line, shorten_path
from punchlist.cli.terminal import error_text, is_interactive, note
from punchlist.errors import ToolError, UsageError
from punchlist.model.checks.failure_cause import could_set_up, lacks_package
from punchlist.model.ledger.run import Run

if TYPE_CHECKING:
    from punchlist.app.start.environment import SetupPlan

_OPEN = "There is no sandbox here (bubblewrap): what is installed can read and write what you can."


class SetupDocument(Struct, frozen=True, kw_only=True):
    """The --json output of `punchlist setup`."""

    folder: str
    made: bool
    python: str
    version: str
    files: tuple[str, ...]
    pinned: int
    commands: tuple[tuple[str, ...], ...]
    sandbox: str

    @classmethod
    def make(cls, plan: "SetupPlan") -> "SetupDocument":
        return cls(
            folder=str(plan.folder),
            made=plan.made,
            python=plan.python.path,
            version=plan.python.version,
            files=plan.files,
            pinned=len(plan.pins),
            commands=tuple(step.command for step in plan.steps),
            sandbox=plan.sandbox,
        )


def render_plan(plan: "SetupPlan") -> Iterator[str]:
    yield f"Environment  {shorten_path(str(plan.folder))}{' (already made)' if plan.made else ''}"
    yield f"Python       {plan.python.version}, {shorten_path(plan.python.path)}"
    yield f"Files        {one_line(', '.join(plan.files)) or 'none: only what runs the tests'}"
    if plan.pins:
        yield f"Pinned       {len(plan.pins):,} versions of the lock file"
    yield "Commands"
    for step in plan.steps:
        left_out = "   (left out if that fails)" if step.optional else ""
        yield f"  {one_line(shlex.join(step.command))}{left_out}"
    fence = "In the sandbox of checks, with the network; your checkout is not touched."
    yield fence if plan.sandbox != "none" else _OPEN


async def set_up_environment(
    session: Session, plan: "SetupPlan", *, yes: bool = False, ask: bool = True
) -> tuple[str, ...]:
    """Make the environment once the user allowed it; return what was done. Raise UsageError if
    the user cannot be asked.
    """
    if plan.made:
        return (f"already made: {shorten_path(str(plan.folder))}",)
    if not (yes or session.allowance.covers(plan.fingerprint)):
        note(*render_plan(plan))
        if not (ask and is_interactive()):
            raise UsageError(
                "this was not allowed yet: nothing was installed", hint="punchlist setup --yes"
            )
        if ask_choice("Do this? [y]es, [n]o", ["y", "n"]) == "n":
            return ("Nothing was installed.",)
        session.allowance.grant(plan.fingerprint)
    await make_environment(session, plan, lambda line: note(one_line(line)))
    return (f"made {shorten_path(str(plan.folder))}; later runs use it for the checks found here",)


def find_lack(run: Run) -> str:
    """Return which package the run's checks lacked, as their runner said it, or ''."""
    baselines = run.checks.baselines
    causes = (
        baselines[check.name].cause
        for check in run.started.checks
        if check.name in baselines and could_set_up(check)
    )
    return next((cause for cause in causes if lacks_package(cause)), "")


async def offer_environment(session: Session, lacking: str) -> bool:
    """Ask once whether to make an environment for checks that lack a package; return whether one
    was made.
    """
    try:
        plan = await plan_environment(session)
    except UsageError:  # there is nothing to install
        return False
    declined = f"declined {plan.fingerprint}"
    if plan.made or session.allowance.covers(declined):
        return False
    note("", f"The tests lack a package: {one_line(lacking)}. `punchlist setup` can do this:")
    try:
        await set_up_environment(session, plan)
    except ToolError as error:
        note(error_text(str(error), error.hint))
        return False
    if not plan.made:
        session.allowance.grant(declined)
    return plan.made
