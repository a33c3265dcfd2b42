"""An editor as far as the protocol goes: pygls' own client, and the real server in a process of its own."""

import asyncio
import os
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Union

from cattrs import Converter
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter

import punchlist
import warm

SOURCE = str(Path(punchlist.__file__).parents[1])
PATIENCE = 120
"""Seconds after which a test gives up on what should have come."""


def make_converter() -> Converter:
    """pygls' converter, but for code actions: it takes those that have a command for commands."""
    converter = default_converter()

    def structure_action(value: Any, _: type) -> types.Command | types.CodeAction:
        kind = types.Command if isinstance(value.get("command"), str) else types.CodeAction
        return converter.structure(value, kind)

    converter.register_structure_hook(
        Union[types.Command, types.CodeAction],  # noqa: UP007 - the type that lsprotocol registers
        structure_action,
    )
    return converter


class Editor(LanguageClient):
    """Keeps what the server sends; `seen` and `told` wait for it."""

    def __init__(self) -> None:
        super().__init__("a test", "1", converter_factory=make_converter)
        self.diagnostics: dict[str, list[types.PublishDiagnosticsParams]] = {}
        self.messages: list[str] = []
        self.progress: list[tuple[str, str]] = []
        """The kind and the token of each progress."""
        self._news = asyncio.Condition()
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(self._receiver(self._add_diagnostics))
        self.feature(types.WINDOW_SHOW_MESSAGE)(self._receiver(self._add_message))
        self.feature(types.WINDOW_LOG_MESSAGE)(self._receiver(self._add_message))
        self.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)(lambda params: None)
        self.feature(types.PROGRESS)(self._receiver(self._add_progress))

    def _receiver(self, receive: Callable[[Any], None]):
        async def handle(params: Any) -> None:
            async with self._news:
                receive(params)
                self._news.notify_all()

        return handle

    def _add_diagnostics(self, params: types.PublishDiagnosticsParams) -> None:
        self.diagnostics.setdefault(params.uri, []).append(params)

    def _add_message(self, params: types.ShowMessageParams) -> None:
        self.messages.append(params.message)

    def _add_progress(self, params: types.ProgressParams) -> None:
        value = params.value
        kind = value["kind"] if isinstance(value, dict) else value.kind
        self.progress.append((kind, str(params.token)))

    async def server_exit(self, server: asyncio.subprocess.Process) -> None:
        """Called by pygls; the tests look at the exit code themselves."""

    async def shows(self, kind: str, times: int) -> str:
        """The token of the progress of a kind that came as the given one."""
        found = await self._wait(
            lambda: (
                [token for each, token in self.progress if each == kind][times - 1 : times] or None
            )
        )
        return found[0]

    async def _wait(self, enough: Callable[[], Any]) -> Any:
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: enough() is not None)
        return enough()

    async def seen(self, uri: str, times: int = 1) -> list[types.Diagnostic]:
        """The diagnostics of a document when they have come so many times."""
        found = await self._wait(
            lambda: self.diagnostics[uri] if len(self.diagnostics.get(uri, [])) >= times else None
        )
        return list(found[-1].diagnostics)

    async def told(self, words: str) -> str:
        """The first message with these words."""
        return await self._wait(lambda: next((m for m in self.messages if words in m), None))

    def open(self, file: Path, text: str | None = None, version: int = 1) -> str:
        uri = file.as_uri()
        content = file.read_bytes().decode(errors="replace") if text is None else text
        item = types.TextDocumentItem(uri=uri, language_id="any", version=version, text=content)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str, version: int) -> None:
        whole = types.TextDocumentContentChangeWholeDocument(text=text)
        name = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
        self.text_document_did_change(types.DidChangeTextDocumentParams(name, [whole]))

    def save(self, uri: str) -> None:
        name = types.TextDocumentIdentifier(uri)
        self.text_document_did_save(types.DidSaveTextDocumentParams(name))

    def close(self, uri: str) -> None:
        name = types.TextDocumentIdentifier(uri)
        self.text_document_did_close(types.DidCloseTextDocumentParams(name))

    async def actions(self, uri: str, line: int = 0, last: int = 10_000) -> list[types.CodeAction]:
        """The code actions of some lines, without naming a diagnostic."""
        where = types.Range(types.Position(line, 0), types.Position(last, 0))
        return await self._ask_actions(uri, where, [])

    async def actions_for(
        self, uri: str, diagnostic: types.Diagnostic
    ) -> dict[str, types.CodeAction]:
        found = await self._ask_actions(uri, diagnostic.range, [diagnostic])
        return {action.title: action for action in found}

    async def _ask_actions(self, uri, where, diagnostics) -> list[types.CodeAction]:
        context = types.CodeActionContext(diagnostics=diagnostics)
        name = types.TextDocumentIdentifier(uri)
        found = await self.text_document_code_action_async(
            types.CodeActionParams(text_document=name, range=where, context=context)
        )
        return list(found or [])

    async def run(self, command: types.Command | None) -> None:
        assert command is not None
        await self.workspace_execute_command_async(
            types.ExecuteCommandParams(command.command, command.arguments)
        )


def describe_client(**more: Any) -> types.ClientCapabilities:
    edits = types.WorkspaceEditClientCapabilities(
        document_changes=True, resource_operations=[types.ResourceOperationKind.Create]
    )
    general = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf16])
    workspace = types.WorkspaceClientCapabilities(workspace_edit=edits)
    return types.ClientCapabilities(**{"workspace": workspace, "general": general} | more)


@asynccontextmanager
async def open_editor(home: Path, *, capabilities: types.ClientCapabilities | None = None, **env):
    """An editor whose server has been initialized; it is shut down as an editor does it."""
    editor = Editor()
    await editor.start_io(
        *warm.command("lsp"),
        env={**os.environ, "PUNCHLIST_HOME": str(home), "PYTHONPATH": SOURCE, **env},
    )
    await editor.initialize_async(
        types.InitializeParams(capabilities=capabilities or describe_client())
    )
    editor.initialized(types.InitializedParams())
    try:
        yield editor
        async with asyncio.timeout(PATIENCE):
            await editor.shutdown_async(None)
            editor.exit(None)
            assert await editor._server.wait() == 0
    finally:
        if editor._server.returncode is None:
            editor._server.kill()
        await editor.stop()


def apply_edit(edit: types.WorkspaceEdit | None, texts: dict[str, str]) -> dict[str, str]:
    """What an editor that counts in UTF-16 makes of an edit; `texts` are its documents by URI."""
    assert edit is not None
    changed = dict(texts)
    for each in edit.document_changes or []:
        if isinstance(each, types.CreateFile):
            assert each.uri not in changed
            changed[each.uri] = ""
            continue
        assert isinstance(each, types.TextDocumentEdit)
        text = changed[each.text_document.uri]
        for one in sorted(each.edits, key=lambda e: e.range.start, reverse=True):
            start, end = (_offset(text, at) for at in (one.range.start, one.range.end))
            text = text[:start] + one.new_text + text[end:]
        changed[each.text_document.uri] = text
    return changed


def _offset(text: str, at: types.Position) -> int:
    lines = text.split("\n")
    line = lines[at.line] if at.line < len(lines) else ""
    units = line.encode("utf-16-le")[: 2 * at.character]
    return sum(len(each) + 1 for each in lines[: at.line]) + len(units.decode("utf-16-le"))


def underlined(text: str, where: types.Range) -> str:
    return text[_offset(text, where.start) : _offset(text, where.end)]
