"""What a CI job leaves: reports in a folder, a summary, annotations and outputs."""

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from punchlist.adapters.folders.look import is_link
from punchlist.app.after.reports import render_format
from punchlist.app.ci.event import CiPlace
from punchlist.errors import UsageError
from punchlist.model.ledger.run import Run
from punchlist.views.pulls.reported import make_result

RESULT = "punchlist-result.json"
_FORMS = {"punchlist.sarif": "sarif", "punchlist.md": "md", "punchlist.json": "json"}
_GITLAB_FORMS = {"gl-code-quality-report.json": "gitlab", "gl-sast-report.json": "gitlab-sast"}
_SUMMARY_LIMIT = 1_000_000
"""Bytes of a step's summary; GitHub shows none that is larger than 1 MiB."""
_CUT = "\n\n... and more: the whole report is among the files of this job.\n"


def write_reports(folder: Path, run: Run, place: CiPlace) -> tuple[Path, ...]:
    """Write the reports of a run into the folder; return their paths. Raise UsageError if a link
    of the code under review leads elsewhere, or if it cannot be written.
    """
    forms = _FORMS | (_GITLAB_FORMS if place is CiPlace.GITLAB else {})
    files = {name: render_format(run, form) for name, form in forms.items()}
    files[RESULT] = make_result(run)
    _make_folder(folder)
    return tuple(_write_file(folder / name, content) for name, content in files.items())


def _make_folder(folder: Path) -> None:
    here = Path.cwd()
    whole = here / folder
    below = [*whole.parents, whole] if whole.is_relative_to(here) else [whole]
    for each in below:
        if each != here and each.is_relative_to(here) and is_link(each):
            why = "it is a link, which the code under review can have set"
            raise UsageError(f"{each}: {why}", hint="--reports FOLDER names another")
    try:
        whole.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be made: {error.strerror}", hint="--reports FOLDER names another"
        ) from error


def _write_file(path: Path, content: bytes) -> Path:
    """Write a new file in the place of what is there, never through a link."""
    try:
        path.unlink(missing_ok=True)
        with path.open("xb") as file:
            file.write(content)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written: {error.strerror}", hint="--reports FOLDER names another"
        ) from error
    return path


def read_result(path: Path, limit: int) -> bytes:
    """Return the bytes of a result that another job left, at most one more than the limit. Raise
    UsageError if it is no plain file.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(number, "rb") as file:  # noqa: PTH123 - opened without following links
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise UsageError(f"{path}: is no plain file")
            return file.read(limit + 1)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error.strerror}",
            hint="name the file that the first job left: --relay FILE",
        ) from error


def write_summary(env: Mapping[str, str], run: Run) -> None:
    """Append the run to the summary of the job's step, where the service has one."""
    if not env.get("GITHUB_STEP_SUMMARY"):
        return
    text = render_format(run, "md")
    if len(text) > _SUMMARY_LIMIT:
        text = text[:_SUMMARY_LIMIT].decode("utf-8", "ignore").rpartition("\n")[0].encode()
        text += _CUT.encode()
    _append(env["GITHUB_STEP_SUMMARY"], text + b"\n")


def write_outputs(env: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Set the outputs of the job's step; no value can end itself and begin another."""
    if not env.get("GITHUB_OUTPUT"):
        return
    end = f"end-{secrets.token_hex(16)}"
    lines = (f"{name}<<{end}\n{value}\n{end}\n" for name, value in values.items())
    _append(env["GITHUB_OUTPUT"], "".join(lines).encode("utf-8", "replace"))


def _append(path: str, content: bytes) -> None:
    try:
        with Path(path).open("ab") as file:
            file.write(content)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be written: {error}") from error
