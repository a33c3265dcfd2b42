"""Serve the Language Server Protocol over standard input and output."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
from lsprotocol import types
from pygls.io_ import StdoutWriter, run_async

from punchlist.lsp.actions import DISMISS, FIX
from punchlist.lsp.editor import EditorServer, ItemArguments
from punchlist.lsp.reader import BoundedReader
from punchlist.lsp.session import EditorSession

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def build_server(app: EditorSession) -> EditorServer:
    server = EditorServer(app)
    _add_documents(server)
    _add_actions(server)
    return server


def _add_documents(server: EditorServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def open_document(params: types.DidOpenTextDocumentParams) -> None:
        server.begin(server.add_document(params.text_document))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def save_document(params: types.DidSaveTextDocumentParams) -> None:
        if document := server.documents.get(params.text_document.uri):
            document.saved = True
            server.begin(server.request_review(document))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def change_document(params: types.DidChangeTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document and params.content_changes:
            document.text = params.content_changes[-1].text
            document.version = params.text_document.version
            document.saved = False

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def close_document(params: types.DidCloseTextDocumentParams) -> None:
        server.forget_document(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def change_files(params: types.DidChangeWatchedFilesParams) -> None:
        for document in list(server.documents.values()):
            server.begin(server.request_review(document))


def _add_actions(server: EditorServer) -> None:
    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    def list_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return server.list_actions(params)

    @server.command(DISMISS)
    def dismiss(*arguments: Any) -> None:
        server.begin(server.dismiss(_parse_arguments(arguments)))

    @server.command(FIX)
    def fix(*arguments: Any) -> None:
        server.begin(server.fix(_parse_arguments(arguments)))


def _parse_arguments(arguments: tuple[Any, ...]) -> ItemArguments:
    return msgspec.convert(arguments[0] if arguments else None, ItemArguments)


async def serve(home: Path, flags: Mapping[str, str], who: str) -> None:
    """Serve until the client ends it or closes its end; then stop reviews and driven runs."""
    app = EditorSession(home, flags, who)
    server = build_server(app)
    ending: list[asyncio.Task[None]] = []

    async def shut_down(number: int) -> None:
        # Standard input is read in a thread that cannot be woken: end the process here.
        await server.aclose()
        os._exit(128 + number)

    def handle_signal(number: int) -> None:
        if not ending:
            ending.append(asyncio.ensure_future(shut_down(number)))

    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, handle_signal, number)
    server.protocol.set_writer(StdoutWriter(sys.stdout.buffer))
    reader = BoundedReader(sys.stdin.buffer)
    try:
        await run_async(Event(), reader, server.protocol, None, server.report_server_error)
    except BrokenPipeError:
        # The client was killed. What is still to be written goes nowhere, not into another error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    finally:
        await server.aclose()
