"""One editor: its documents, what is shown in them, and what its user does."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from lsprotocol import types
from msgspec import Struct
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import to_fs_path

from punchlist._version import __version__
from punchlist.errors import PunchlistError
from punchlist.lsp.actions import FIX, ActionBuilder
from punchlist.lsp.documents import LARGEST, OpenDocument, ShownItem, fit_to_documents
from punchlist.lsp.queue import ReviewQueue
from punchlist.lsp.session import EditorSession
from punchlist.model.item.item import Status

_log = logging.getLogger("punchlist")


class AnsweringProtocol(LanguageServerProtocol):
    """Answers a request that cannot be parsed with an error, instead of never."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" in data and isinstance(data.get("id"), int | str):
                self._send_response(data["id"], error=error.to_response_error())
            raise


class ItemArguments(Struct, frozen=True):
    """What the commands get: the document, the run and the item's number there."""

    uri: str
    run: str
    item: int
    why: str = ""


class EditorServer(LanguageServer):
    """The protocol's methods, answered from one session."""

    def __init__(self, app: EditorSession) -> None:
        # pygls counts lines otherwise than clients where a text has form feeds: texts come whole.
        sync = types.TextDocumentSyncKind.Full
        super().__init__(
            "punchlist", __version__, text_document_sync_kind=sync, protocol_cls=AnsweringProtocol
        )
        self.app = app
        self.documents: dict[str, OpenDocument] = {}
        self.queue = ReviewQueue(self._review)
        self._tasks: set[asyncio.Task[None]] = set()

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what the client sent wrong; no window opens for it."""
        if source is JsonRpcInternalError:  # nothing more can be sent
            _log.warning("%s", error)
            return
        self.log(f"{type(error).__name__}: {error}", types.MessageType.Error)

    def log(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        self.window_log_message(types.LogMessageParams(type=kind, message=f"punchlist: {text}"))

    def tell(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        self.window_show_message(types.ShowMessageParams(type=kind, message=f"punchlist: {text}"))

    def begin(self, work: Awaitable[None]) -> None:
        """Do the work in a task of its own; what goes wrong is told, and the server goes on."""
        task = asyncio.ensure_future(self._guard(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guard(self, work: Awaitable[None]) -> None:
        try:
            await work
        except PunchlistError as error:
            hint = f" ({error.hint})" if error.hint else ""
            self.tell(f"{error}{hint}", types.MessageType.Warning)
        except Exception as error:  # noqa: BLE001 - a bad file must not end the server
            self.report_server_error(error, None)

    async def add_document(self, item: types.TextDocumentItem) -> None:
        """Remember an open document; review it if it belongs to a repository."""
        path = to_fs_path(item.uri)
        if not path:
            return
        document = OpenDocument(item.uri, Path(path), item.text, item.version)
        self.documents[item.uri] = document
        await self.request_review(document)

    async def request_review(self, document: OpenDocument) -> None:
        """Find the document's repository, which may be new, and ask for a review of it."""
        found = await self.app.locate(document.file)
        if self.documents.get(document.uri) is not document:
            return  # it was closed, or opened again, meanwhile
        document.root, document.path = (found[0].root, found[1]) if found else ("", "")
        if not found:
            self.log(f"{document.file} is in no git repository that has a commit")
            self._publish(document, [])
        elif len(document.text) > LARGEST:
            self.log(f"{document.path} is larger than {LARGEST >> 20} MB and is not reviewed here")
            self._publish(document, [])
        else:
            self.queue.request(document.root)

    def forget_document(self, uri: str) -> None:
        if document := self.documents.pop(uri, None):
            self._publish(document, [])

    async def _review(self, root: str) -> None:
        await self._guard(self._review_repository(root))

    async def _review_repository(self, root: str) -> None:
        here = self._documents_of(root)
        async with self._show_progress(root):
            view = await self.app.review(root, sorted(here))
        for why in view.look.run.blind if view else ():
            self.log(why, types.MessageType.Warning)
        self._show_all(root)

    def _show_all(self, root: str) -> None:
        """Publish the diagnostics of all documents of a repository that are as they were saved."""
        view, here = self.app.views.get(root), self._documents_of(root)
        fits = fit_to_documents(view, root, self.documents) if view else []
        for document in here.values():
            if view is None:
                self._publish(document, [])
            elif document.saved:
                document.show(view, fits, self.encoding)
                self._publish(document, document.shown)

    def _documents_of(self, root: str) -> dict[str, OpenDocument]:
        documents = (each for each in self.documents.values() if each.root == root)
        return {each.path: each for each in documents if len(each.text) <= LARGEST}

    def _publish(self, document: OpenDocument, shown: list[ShownItem]) -> None:
        document.shown = shown
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=document.uri,
                diagnostics=[each.diagnostic for each in shown],
                version=document.version,
            )
        )

    @property
    def encoding(self) -> str:
        return str(getattr(self.workspace.position_encoding, "value", "utf-16"))

    @asynccontextmanager
    async def _show_progress(self, root: str) -> AsyncIterator[None]:
        """Show that a review runs, with a way to cancel it, if the client can."""
        window = self.client_capabilities.window
        if not window or not window.work_done_progress:
            yield
            return
        token, progress = str(uuid4()), self.work_done_progress
        with suppress(Exception):  # a client that refuses the token gets no progress
            await progress.create_async(token)
        title = f"punchlist reviews {Path(root).name}"
        progress.begin(token, types.WorkDoneProgressBegin(title=title, cancellable=True))
        loop = asyncio.get_running_loop()

        def cancel(future: Any) -> None:
            if future.cancelled():
                loop.call_soon(self.queue.cancel, root)

        progress.tokens[token].add_done_callback(cancel)
        try:
            yield
        finally:
            progress.tokens.pop(token, None)
            progress.end(token, types.WorkDoneProgressEnd())

    def list_actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        document = self.documents.get(params.text_document.uri)
        view = self.app.views.get(document.root) if document else None
        only = params.context.only
        quick = only is None or any("quickfix".startswith(str(_value(kind))) for kind in only)
        if document is None or view is None or not quick:
            return []
        fits = fit_to_documents(view, document.root, self.documents)
        newest = {item.fingerprint: each for each in fits for item in each.fix.items}
        builder = ActionBuilder(
            document.root,
            self._documents_of(document.root),
            self.client_capabilities,
            self.encoding,
        )
        actions: list[types.CodeAction] = []
        for shown in _select_shown(document, params):
            now = newest.get(shown.placed.item.fingerprint)
            current = ShownItem(shown.placed, shown.diagnostic, now)
            actions += builder.make_actions(document, current)
        if not view.agents:
            actions = [each for each in actions if not each.command or each.command.command != FIX]
        return actions

    async def dismiss(self, said: ItemArguments) -> None:
        document = self._find_document(said)
        await self.app.dismiss_item(document.root, said.run, said.item, said.why)
        undo = f"punchlist dismiss {said.run} {said.item} --undo"
        self.tell(f'dismissed as "{said.why}"; `{undo}` takes it back')
        self.queue.request(document.root)

    async def fix(self, said: ItemArguments) -> None:
        document = self._find_document(said)
        run = await self.app.fix_item(document.root, said.run, said.item)
        self.tell(f"run {run} works on it; `punchlist watch {run}` shows it")
        ended = await self.app.wait_for(run)
        fixed = sum(item.status is Status.FIXED for item in ended.items.values())
        self.tell(f"run {run} has ended: {'its fix is offered here' if fixed else 'not fixed'}")
        self.queue.request(document.root)

    def _find_document(self, said: ItemArguments) -> OpenDocument:
        document = self.documents.get(said.uri)
        if document is None or not document.root:
            raise PunchlistError("this document is not open", hint="open it and try again")
        return document

    async def aclose(self) -> None:
        await self.queue.close()
        for task in self._tasks:
            task.cancel()
        await self.app.close()


def _value(kind: object) -> object:
    return getattr(kind, "value", kind)


def _select_shown(document: OpenDocument, params: types.CodeActionParams) -> Iterator[ShownItem]:
    """Yield what the client asks about: the diagnostics that it names, else those of its lines."""
    named = [each.data for each in params.context.diagnostics if each.data]
    for shown in document.shown:
        if shown.diagnostic.data in named if named else _overlaps(shown.diagnostic, params.range):
            yield shown


def _overlaps(diagnostic: types.Diagnostic, asked: types.Range) -> bool:
    where = diagnostic.range
    return where.start.line <= asked.end.line and asked.start.line <= where.end.line
