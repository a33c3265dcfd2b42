"""punchlist baseline: accept what is reported today, so that only new findings are reported."""

from collections.abc import Sequence

import click

from punchlist.app.gate.baseline import BaselineState, compare_baseline, write_baseline
from punchlist.app.gate.shared_files import BASELINE, SHARED
from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import start_run
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.session import handle_signals, run_session
from punchlist.cli.show.progress import open_view
from punchlist.cli.show.words import escape_text
from punchlist.cli.terminal import note, print_result
from punchlist.errors import UsageError
from punchlist.model.finding.known_finding import KnownFinding
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.model.patch.change import ScopeKind


@click.command()
@options.flag("--stale", help="Only list lines, and shared dismissals, whose findings are gone.")
@options.flag("--prune", help="Only remove the lines whose findings are gone.")
@options.checks_options
@options.set_option
@options.output_options
def command(stale: bool, prune: bool, allow: bool | None, **chosen: object) -> Exit:
    """Accept what the analyzers report today, in files below .punchlist/baseline.

    Commit them: from then on, in every clone, only what is new is reported. The baseline of the
    commit that a change starts from is used, never that of the change. HEAD is looked at, and no
    agent is asked. A second copy of a defect is new, and so is another rule on the same line.
    """
    if stale and prune:
        raise UsageError("--stale and --prune exclude each other", hint="choose one of them")
    output = options.parse_output(chosen)

    async def work(session: Session) -> Exit:
        ready = await prepare_run(
            session,
            Request(
                kind=ScopeKind.ALL,
                committed=True,
                workflow="review",
                allow_checks=allow,
                force=True,
            ),
        )
        with open_view(output) as view, handle_signals(view.say):
            run = await start_run(session, ready, view)
        root = session.required_checkout.root
        state = compare_baseline(root, run)
        if stale:
            lines = [f"{each.path}: {_describe(each)}" for each in state.stale]
            shown = map(escape_text, [*lines, *state.dismissals] or ["No line is stale."])
            gone = {"lines": state.stale, "dismissals": state.dismissals}
            print_result(gone, shown, json=output.json)
        else:
            known = (*(state.kept if prune else state.found), *state.unseen)
            write_baseline(root, known)
            print_result(state, _describe_result(state, known, prune=prune), json=output.json)
        return _judge_run(run)

    return run_session(work, {**options.parse_flags(chosen), "agents.use": ""})


def _describe(known: KnownFinding) -> str:
    return " ".join(filter(None, (known.rule, known.symbol, known.code)))


def _describe_result(
    state: BaselineState, known: Sequence[KnownFinding], *, prune: bool
) -> list[str]:
    files = pluralize(len({each.path for each in known}), "file")
    lines = [f"{pluralize(len(known), 'finding')} of {files} in {BASELINE}"]
    if state.stale:
        lines.append(f"{pluralize(len(state.stale), 'line')} removed: the findings are gone")
    if state.unseen:
        tools = sorted({each.tool for each in state.unseen})
        kept = pluralize(len(state.unseen), "line")
        lines.append(f"{kept} kept, where these did not look: {', '.join(tools)}")
    new = len(state.found) - len(state.kept)
    if prune and new:
        lines.append(f"{pluralize(new, 'finding')} not in it: `punchlist review --all`")
    return [*lines, f"Now commit it: git add {SHARED} && git commit"]


def _judge_run(run: Run) -> Exit:
    """Say which analyzers failed: the baseline lacks what they would report."""
    for why in run.blind:
        note(f"not complete: {why}")
    return Exit.INCOMPLETE if run.blind else Exit.FINE
