"""Turn every error into a message, a hint and an exit code."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path

import click

from punchlist.cli.exit_codes import Exit
from punchlist.cli.terminal import UnreadInput, error_text, note
from punchlist.errors import (
    AlreadyRunning,
    BudgetSpent,
    LedgerBroken,
    PunchlistError,
    RepositoryError,
    SettingsError,
    StoreError,
    ToolError,
    TooManyRuns,
    UsageError,
    WorkflowError,
)

CODES: dict[type[PunchlistError], Exit] = {
    UsageError: Exit.USAGE,
    RepositoryError: Exit.SETUP,
    SettingsError: Exit.SETUP,
    WorkflowError: Exit.SETUP,
    StoreError: Exit.LEDGER,
    LedgerBroken: Exit.LEDGER,
    AlreadyRunning: Exit.RUNNING,
    TooManyRuns: Exit.RUNNING,
    BudgetSpent: Exit.INCOMPLETE,
    ToolError: Exit.INCOMPLETE,
}
_MACHINE = frozenset({"--json", "--events", "--format=json"})


def run_command(work: Callable[[], object], arguments: Sequence[str]) -> Exit:
    """Run a command and return its exit code. `arguments` tell whether a program reads the
    output.
    """
    _repair_streams()
    try:
        done = work()
        sys.stdout.flush()
        return Exit(done) if isinstance(done, int) else Exit.FINE
    except PunchlistError as error:
        message, hint = str(error), error.hint
        code = next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), Exit.SETUP)
        run = error.run if isinstance(error, AlreadyRunning) else ""
    except click.ClickException as error:
        message, hint, code, run = error.format_message(), _usage_hint(error), Exit.USAGE, ""
    except (KeyboardInterrupt, click.Abort):
        message, hint = "stopped", "`punchlist resume` goes on, if a run had begun"
        code, run = Exit.INTERRUPTED, ""
    except (UnreadInput, BrokenPipeError) as error:
        return _discard_output(str(error) if isinstance(error, UnreadInput) else "")
    except Exception as error:  # noqa: BLE001 - a fault in punchlist: a log, and its own code
        message = f"punchlist itself failed: {type(error).__name__}: {error}"
        hint, code, run = _write_crash(error, arguments), Exit.CRASHED, ""
    return _report_error(message, hint, code, machine=_wants_json(arguments), run=run)


def _wants_json(arguments: Sequence[str]) -> bool:
    chosen = ("--format", "json") in pairwise(arguments)
    return chosen or not _MACHINE.isdisjoint(arguments)


def _repair_streams() -> None:
    """Keep a closed stream or an unencodable name from ending a run."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _report_error(message: str, hint: str, code: Exit, *, machine: bool, run: str = "") -> Exit:
    with suppress(OSError, UnreadInput):
        note(error_text(message, hint))
        if machine:
            import json

            document = {"error": message, "hint": hint, "exit": int(code)}
            print(json.dumps(document | ({"run": run} if run else {})), flush=True)
    return code


def _usage_hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path} --help" if context is not None else "punchlist --help"


def _discard_output(why: str) -> Exit:
    """Send buffered output to /dev/null, so that the interpreter does not fail at its end."""
    if why:
        _report_error(why, "", Exit.UNREAD, machine=False)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):
        os.dup2(nowhere, sys.stdout.fileno())
    return Exit.UNREAD


def _write_crash(error: Exception, arguments: Sequence[str]) -> str:
    """Write the traceback to a log and return a hint with its path, or the traceback itself."""
    import platform
    import time
    import traceback

    from punchlist._version import __version__
    from punchlist.settings import home_folder

    versions = f"punchlist {__version__}, Python {platform.python_version()}"
    # `--set agent.NAME.env.KEY=VALUE`: the value may be a secret.
    named = [each.partition("=")[0] if ".env." in each else each for each in arguments]
    head = f"{versions}, {platform.platform()}\narguments: {named!r}\n\n"
    trace = head + "".join(traceback.format_exception(error))
    folder = home_folder() / "crashes"
    log = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        log.write_text(trace, "utf-8", "backslashreplace")
    except OSError as unwritten:
        return f"no crash log could be written ({unwritten}); here it is:\n{trace}"
    return f"the details are in {log}; what a run had recorded is safe, `punchlist resume` goes on"
