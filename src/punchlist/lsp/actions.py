"""Code actions: apply a proven fix, dismiss an item with a reason, start a run for it."""

from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

from punchlist.app.look.proven_fixes import FixEdits
from punchlist.lsp.documents import OpenDocument, ShownItem
from punchlist.lsp.positions import DocumentPositions
from punchlist.model.item.item import Status
from punchlist.model.patch.patch import group_splices
from punchlist.views.escaping import one_line
from punchlist.views.item_words import format_proofs

DISMISS = "punchlist.dismiss"
FIX = "punchlist.fix"
REASONS = ("false positive", "intended", "will not be fixed")
_FIXED = frozenset({Status.FIXED, Status.CLAIMED})


class ActionBuilder:
    """`documents`: the open documents of one repository, by path."""

    def __init__(
        self,
        root: str,
        documents: dict[str, OpenDocument],
        capabilities: types.ClientCapabilities,
        encoding: str,
    ) -> None:
        self._root = root
        self._documents = documents
        self._encoding = encoding
        edits = capabilities.workspace.workspace_edit if capabilities.workspace else None
        operations = (edits.resource_operations or ()) if edits else ()
        # Operations stand among versioned changes: Neovim names them, and not the changes.
        self._checks_versions = bool(edits and (edits.document_changes or operations))
        self._creates = types.ResourceOperationKind.Create in operations

    def make_actions(self, document: OpenDocument, shown: ShownItem) -> Iterator[types.CodeAction]:
        """Yield what can be done about one diagnostic, the best first."""
        if shown.edits and (edit := self._make_edit(shown.edits)):
            yield _make_fix_action(shown, shown.edits, edit)
        if shown.placed.item.status in _FIXED:
            return
        target = {"uri": document.uri, "run": shown.placed.run, "item": shown.placed.item.number}
        name = one_line(shown.placed.item.lead.rule) or one_line(shown.placed.item.lead.source)
        yield _make_command(f"punchlist: fix this ({name})", FIX, target, shown)
        for why in REASONS:
            title = f'punchlist: dismiss {name} as "{why}"'
            yield _make_command(title, DISMISS, {**target, "why": why}, shown)

    def _make_edit(self, edits: FixEdits) -> types.WorkspaceEdit | None:
        """Return the edit, tied to the versions of the open documents; None if the client could
        not see to it that they match.
        """
        if not self._checks_versions or (edits.created and not self._creates):
            return None
        changes: list[
            types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile
        ] = []
        for path, text in edits.created.items():
            uri = self._make_uri(path)
            start = types.Range(start=types.Position(0, 0), end=types.Position(0, 0))
            changes += (types.CreateFile(uri=uri), _edit_file(uri, None, [(start, text)]))
        for path, splices in group_splices(edits.splices).items():
            document = self._documents.get(path)  # None: what is on disk was compared just now
            positions = DocumentPositions(edits.texts[path], self._encoding)
            texts = [(positions.make_range(each.start, each.end), each.text) for each in splices]
            uri = document.uri if document else self._make_uri(path)
            changes.append(_edit_file(uri, document.version if document else None, texts))
        return types.WorkspaceEdit(document_changes=changes)

    def _make_uri(self, path: str) -> str:
        return (Path(self._root) / path).as_uri()


def _edit_file(
    uri: str, version: int | None, texts: list[tuple[types.Range, str]]
) -> types.TextDocumentEdit:
    identifier = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    edits: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = [
        types.TextEdit(range=where, new_text=text) for where, text in texts
    ]
    return types.TextDocumentEdit(text_document=identifier, edits=edits)


def _make_fix_action(
    shown: ShownItem, edits: FixEdits, edit: types.WorkspaceEdit
) -> types.CodeAction:
    proof = format_proofs(edits.fix.items[0])
    since = "" if edits.unchanged else "; other lines have changed since"
    others = len(edits.fix.items) - 1
    also = f", and {others} more with it" if others else ""
    return types.CodeAction(
        title=f"punchlist: apply the fix proven in run {edits.fix.run} ({proof}{also}{since})",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[shown.diagnostic],
        is_preferred=edits.unchanged,
        edit=edit,
    )


def _make_command(
    title: str, command: str, arguments: dict[str, object], shown: ShownItem
) -> types.CodeAction:
    return types.CodeAction(
        title=title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[shown.diagnostic],
        command=types.Command(title=title, command=command, arguments=[arguments]),
    )
