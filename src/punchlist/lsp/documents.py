"""The documents that are open in the editor, and what is shown in each."""

from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol import types

from punchlist.app.look.open_items import PlacedItem
from punchlist.app.look.proven_fixes import FixEdits, fit_fixes
from punchlist.lsp.positions import DocumentPositions
from punchlist.lsp.session import EditorRepository
from punchlist.model.finding.finding import Spot
from punchlist.model.finding.severity import Severity
from punchlist.views.escaping import one_line, web_address
from punchlist.views.item_words import format_proofs

LARGEST = 2 << 20
"""Characters of a document that is reviewed while it is edited."""
_MOST = 1000
"""Diagnostics of one document."""
_SEVERITIES = {
    Severity.CRITICAL: types.DiagnosticSeverity.Error,
    Severity.MAJOR: types.DiagnosticSeverity.Warning,
    Severity.MINOR: types.DiagnosticSeverity.Information,
}


@dataclass
class ShownItem:
    """A diagnostic, the item that it is about, and the fix of it that fits."""

    placed: PlacedItem
    diagnostic: types.Diagnostic
    edits: FixEdits | None


@dataclass
class OpenDocument:
    """`root` and `path`: its repository and its place there, '' if it has none."""

    uri: str
    file: Path
    text: str
    version: int | None
    root: str = ""
    path: str = ""
    saved: bool = True
    """Whether the editor has not changed it since it was opened or saved."""
    shown: list[ShownItem] = field(default_factory=list)

    def show(self, view: EditorRepository, fits: list[FixEdits], encoding: str) -> None:
        """Compute the diagnostics from the last review and the fixes that fit the files now."""
        fixes = {item.fingerprint: each for each in fits for item in each.fix.items}
        placed = [each for each in view.items if each.spot.path == self.path]
        known = {each.item.fingerprint for each in view.items}
        placed += [each for each in _place_fixed(self, fits) if each.item.fingerprint not in known]
        positions = DocumentPositions(self.text, encoding)
        self.shown = [
            ShownItem(each, _make_diagnostic(each, positions, fix), fix)
            for each in placed[:_MOST]
            for fix in (fixes.get(each.item.fingerprint),)
        ]


def fit_to_documents(
    view: EditorRepository, root: str, documents: dict[str, OpenDocument]
) -> list[FixEdits]:
    """Return the proven fixes of open documents that fit all their files as they are now: those
    that are open as the editor has them.
    """
    texts = {each.path: each.text for each in documents.values() if each.root == root}

    def read(path: str) -> str | None:
        return texts[path] if path in texts else _read_file(Path(root) / path)

    near = [fix for fix in view.fixes if any(file.path in texts for file in fix.files)]
    return list(fit_fixes(near, read))


def _read_file(file: Path) -> str | None:
    """Return the file as text with its own line ends; None if it is not there or no UTF-8."""
    try:
        return file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _place_fixed(document: OpenDocument, fits: list[FixEdits]) -> list[PlacedItem]:
    """Return the items whose fix fits this document, at the first line that it changes."""
    placed = []
    for each in fits:
        starts = [splice.start for splice in each.splices if splice.path == document.path]
        if starts:
            line = document.text.count("\n", 0, min(starts)) + 1
            spot = Spot(document.path, line)
            placed += [PlacedItem(each.fix.run, item, spot) for item in each.fix.items]
    return placed


def _make_diagnostic(
    placed: PlacedItem, positions: DocumentPositions, fix: FixEdits | None
) -> types.Diagnostic:
    finding = placed.item.current
    message = one_line(finding.title) or "a finding without a title"
    if fix:
        message += f" (a fix is proven: {_prove(placed, fix)})"
    link = _find_link(placed)
    return types.Diagnostic(
        range=positions.locate_spot(placed.spot),
        message=message,
        severity=_SEVERITIES[placed.item.severity],
        source=one_line(finding.source),
        code=one_line(finding.rule) or None,
        code_description=types.CodeDescription(link) if link else None,
        data={"run": placed.run, "item": placed.item.number},
    )


def _prove(placed: PlacedItem, fix: FixEdits) -> str:
    name = placed.item.fingerprint
    return format_proofs(next(each for each in fix.fix.items if each.fingerprint == name))


def _find_link(placed: PlacedItem) -> str:
    """Return the address of the item's issue, else that of its rule, or ''."""
    issue = placed.item.issue
    if issue.startswith("/"):
        return Path(issue).as_uri()
    return web_address(issue) or web_address(placed.item.current.url)
