"""punchlist pr: answer every finding on a pull request, there."""

from typing import Any

import click

from punchlist.app.pulls.answer import PullAnswer
from punchlist.app.pulls.land import AskedFixes
from punchlist.app.session import Session
from punchlist.cli import options
from punchlist.cli.exit_codes import Exit
from punchlist.cli.pull_driver import answer_pull, render_result
from punchlist.cli.session import run_session
from punchlist.cli.show.json import exit_code
from punchlist.cli.show.words import escape_text
from punchlist.cli.terminal import print_result


@click.command()
@click.argument("name", metavar="[NUMBER|URL]", required=False, default="")
@options.flag("--push", help="Push proven fixes to the pull request's branch, never with force.")
@options.flag("--stack", help="Open a pull request with the proven fixes to that branch.")
@options.flag("--dry-run", help="Run, and print what would be posted; post and push nothing.")
@options.findings_option
@options.workflow_option
@options.checks_options
@options.agent_options
@options.selection_options
@options.commits_option
@options.pull_run_options
def command(name: str, *, push: bool, stack: bool, dry_run: bool, **chosen: Any) -> Exit:
    """Answer every finding on a pull request, there: fixed with a proof, suggested, or left with
    the reason.

    Open review threads, review bodies, annotations of checks and code scanning alerts are findings,
    together with those of punchlist's own reviewers. The pull request gets one summary, one thread
    for each item, a reply in each thread of others, and a check. Nothing is posted twice. Your
    checkout is not touched. Without NUMBER it is the pull request of your branch.
    """
    output = options.parse_output(chosen)
    request = options.make_request(
        {
            **chosen,
            "base": "",
            "commit": "",
            "paths": (),
            "everything": False,
            "staged": False,
            "committed": True,
        }
    )

    async def work(session: Session) -> Exit:
        asked = AskedFixes(push=push, stack=stack, dry=dry_run)
        answer = await PullAnswer.open(session, name, asked)
        run, result = await answer_pull(session, answer, request, output)
        print_result(result, map(escape_text, render_result(result)), json=output.json)
        return exit_code(session.load(run.id), check=output.check)

    return run_session(work, options.parse_flags(chosen))
