"""Issues as Markdown files: one per item, found by its fingerprint, and listed in a README."""

import asyncio
import fcntl
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from punchlist.adapters.folders.look import is_file, is_folder
from punchlist.adapters.store.atomic_write import write_atomic
from punchlist.adapters.store.errors import make_store_error
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.ports.tracker import Filing
from punchlist.views.issue_text import IssueText
from punchlist.views.safe_text import safe_text

INDEX = "README.md"
_NAME = late_pattern(r"(?P<severity>[a-z]+)-(?P<key>[0-9a-zA-Z]{1,16})-[a-z0-9-]*\.md")
_COMMENT = late_pattern(r"^<!-- punchlist:fingerprint (\S+) -->$", re.MULTILINE)
_SLUG = late_pattern(r"[^a-z0-9]+")
_SLUG_LIMIT = 60
_DISMISSED = "Status: dismissed"
_HEAD = 3
"""Lines: the title, an empty one, and the mark of a dismissed issue."""
_TOP = late_pattern(rf"\A(# [^\n]*\n\n)?(?:{_DISMISSED}[^\n]*\n\n)?")


class IssueHead(NamedTuple):
    """Parsed first lines of an issue."""

    title: str
    dismissed: bool


def is_issue_file(ref: str) -> bool:
    """Return whether a filing's reference is the path of an issue file."""
    return "://" not in ref and _NAME.fullmatch(Path(ref).name) is not None


class FilesTracker:
    """An issue is open while its file exists without the dismissed mark; users close it by
    deleting the file.
    """

    name = "files"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._heads: dict[Path, IssueHead] = {}
        self._fingerprints: dict[Path, str] = {}

    async def file(self, dossiers: Sequence[IssueText]) -> Sequence[Filing]:
        return await asyncio.to_thread(self._file_all, dossiers)

    def _file_all(self, dossiers: Sequence[IssueText]) -> list[Filing]:
        try:
            with self._update_folder() as known:
                return [self._file_one(dossier, known) for dossier in dossiers]
        except OSError as error:
            why = str(make_store_error(error, self._folder, "written"))
            return [Filing(item=dossier.item.number, failed=why) for dossier in dossiers]

    def close(self, fingerprints: Collection[str], by: str, why: str) -> int:
        """Mark issues as dismissed; return how many exist."""
        mark = f"{_DISMISSED} by {_one_line(by)}: {_one_line(why)}\n\n"
        return self._mark_issues(fingerprints, mark)

    def reopen(self, fingerprints: Collection[str]) -> int:
        """Remove the dismissed mark; return how many exist."""
        return self._mark_issues(fingerprints, "")

    def _mark_issues(self, fingerprints: Collection[str], mark: str) -> int:
        if not is_folder(self._folder):
            return 0
        try:
            with self._update_folder() as known:
                paths = [known[each] for each in fingerprints if each in known]
                for path in paths:
                    self._mark_issue(path, mark)
        except OSError as error:
            raise make_store_error(error, self._folder, "written") from error
        return len(paths)

    def _mark_issue(self, path: Path, mark: str) -> None:
        text = path.read_text(encoding="utf-8", errors="replace")
        marked = _TOP.sub(lambda top: f"{top[1] or ''}{mark}", text, count=1)
        write_atomic(path, marked.encode("utf-8", "replace"))
        self._heads.pop(path, None)

    def _file_one(self, dossier: IssueText, known: dict[str, Path]) -> Filing:
        item = dossier.item
        if item.status is Status.FIXED:
            return Filing(item=item.number, failed="it is fixed; there is nothing to file")
        path = known.get(item.fingerprint)
        if path is None:
            key, slug = _file_key(item.fingerprint), _make_slug(item.lead.title)
            path = self._folder / f"{item.severity}-{key}-{slug}.md"
            text = f"# {dossier.title}\n\nLabels: {', '.join(dossier.labels)}\n\n{dossier.body}"
            try:
                write_atomic(path, text.encode())
            except OSError as error:
                why = str(make_store_error(error, path, "written"))
                return Filing(item=item.number, failed=why)
            known[item.fingerprint] = path
        elif self._read_head(path).dismissed:
            self._mark_issue(path, "")  # filed again: the dismissal was taken back
        return Filing(item=item.number, ref=str(path))

    @contextmanager
    def _update_folder(self) -> Iterator[dict[str, Path]]:
        """Lock the folder, so that concurrent runs file an item once; give the known issues, and
        write the index at the end.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield self._find_known()
            write_atomic(self._folder / INDEX, self._render_index())
        finally:
            os.close(handle)

    def _find_known(self) -> dict[str, Path]:
        """Return issues by the fingerprint in their text; users may rename files."""
        known: dict[str, Path] = {}
        for path in self._list_issues():
            if path not in self._fingerprints:
                found = _COMMENT.findall(path.read_text(encoding="utf-8", errors="replace"))
                self._fingerprints[path] = found[-1] if found else ""
            known.setdefault(self._fingerprints[path], path)
        return known

    def _list_issues(self) -> list[Path]:
        paths = self._folder.glob("*.md")
        return sorted(path for path in paths if path.name != INDEX and is_file(path))

    def _render_index(self) -> bytes:
        opened: list[str] = []
        closed: list[str] = []
        for path in sorted(self._list_issues(), key=_sort_key):
            head = self._read_head(path)
            row = f"- [{_escape_title(head.title)}]({path.name})"
            (closed if head.dismissed else opened).append(row)
        how = "Delete a file to close its issue."
        top = f"# Open issues\n\n{len(opened)} filed by punchlist. {how}\n"
        rest = ["", "## Dismissed", "", *closed] if closed else []
        return "\n".join([top, *opened, *rest, ""]).encode("utf-8", "replace")

    def _read_head(self, path: Path) -> IssueHead:
        if path not in self._heads:
            with path.open(encoding="utf-8", errors="replace") as file:
                lines = list(islice(file, _HEAD))
            first = lines[0].lstrip("# ").strip() if lines else ""
            dismissed = any(line.startswith(_DISMISSED) for line in lines)
            self._heads[path] = IssueHead(first or path.stem, dismissed)
        return self._heads[path]


def _sort_key(path: Path) -> tuple[int, str]:
    found = _NAME.fullmatch(path.name)
    ranks = {str(severity): severity.rank for severity in Severity}
    return (ranks.get(found["severity"] if found else "", len(ranks)), path.name)


def _file_key(fingerprint: str) -> str:
    return re.sub(r"[^0-9a-zA-Z]", "", fingerprint)[:16] or "0"


def _make_slug(title: str) -> str:
    return _SLUG.sub("-", title.casefold())[:_SLUG_LIMIT].strip("-") or "finding"


def _one_line(words: str) -> str:
    return " ".join(safe_text(words).split())


def _escape_title(title: str) -> str:
    return title.replace("[", "\\[").replace("]", "\\]")
