"""Bad input ends nothing; a client that ends, or is gone, ends the server."""

import json
import os
import signal
import subprocess
import sys

import pytest
from editor_client import PATIENCE, SOURCE

from punchlist.installed import extra_hint

INITIALIZE = {"processId": None, "rootUri": None, "capabilities": {}}


def frame(message: object) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def call(number: object, method: str, params: object = None) -> bytes:
    return frame({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def notify(method: str, params: object = None) -> bytes:
    return frame({"jsonrpc": "2.0", "method": method, "params": params})


@pytest.fixture
def server(tmp_path):
    env = {**os.environ, "PUNCHLIST_HOME": str(tmp_path / "state"), "PYTHONPATH": SOURCE}
    command = [sys.executable, "-m", "punchlist", "lsp", "--stdio"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        cwd=tmp_path,
    )
    yield process
    process.kill()
    process.communicate()


def answers(out: bytes) -> list[dict]:
    found = []
    while out:
        head, _, rest = out.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if b"Length" in line)
        found.append(json.loads(rest[:length]))
        out = rest[length:]
    return found


def test_nothing_that_a_client_sends_ends_the_server(server):
    command = "workspace/executeCommand"
    action = "textDocument/codeAction"
    nowhere = {"start": {"line": -1, "character": 2**31}, "end": {"line": 0, "character": 0}}
    document = {"uri": "file:///nowhere.py", "languageId": "python", "version": 1, "text": "\ud800"}
    sent = [
        notify("textDocument/didOpen", {"textDocument": document}),  # before it is initialized
        call(1, "initialize", INITIALIZE),
        notify("initialized", {}),
        frame(b"{"),
        frame(b"[]"),
        frame(b"null"),
        frame(b"\xff\xfe"),
        frame(b"[" * 100_000),
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"x" * 100_000 + b"\r\n",
        frame({"jsonrpc": "2.0"}),
        frame({"jsonrpc": "1.0", "method": "x"}),
        frame({"jsonrpc": "2.0", "id": 77, "result": None}),
        call(None, "textDocument/hover", {}),
        call(2, "no/such/method", {}),
        call(3, action, {}),
        call(
            4, action, {"textDocument": document, "range": nowhere, "context": {"diagnostics": []}}
        ),
        call(5, command, {"command": "punchlist.dismiss"}),
        call(6, command, {"command": "punchlist.dismiss", "arguments": [{"uri": 1}]}),
        call(7, command, {"command": "punchlist.fix", "arguments": [[], {}, None]}),
        call(8, command, {"command": "rm"}),
        call(
            9,
            command,
            {
                "command": "punchlist.dismiss",
                "arguments": [{"uri": "file:///x", "run": "last", "item": 1, "why": "no"}],
            },
        ),
        notify("textDocument/didOpen", {"textDocument": document}),
        notify("textDocument/didOpen", {"textDocument": {}}),
        notify("textDocument/didChange", {"textDocument": document, "contentChanges": []}),
        notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{}]}),
        notify("textDocument/didSave", {"textDocument": {"uri": None}}),
        notify("$/cancelRequest", {"id": 12345}),
        notify("window/workDoneProgress/cancel", {"token": "none"}),
        call(10, "shutdown"),
        notify("exit"),
    ]
    out, _ = server.communicate(b"".join(sent), timeout=PATIENCE)
    assert server.returncode == 0
    ended = {each["id"]: each for each in answers(out) if "id" in each}
    assert ended[10]["result"] is None
    assert {number for number, each in ended.items() if "error" in each} == {2, 3, 4, 5, 6, 7, 8}


@pytest.mark.parametrize("end", ["its end is closed", "it is told to"])
def test_the_server_ends_with_its_client(server, end):
    server.stdin.write(call(1, "initialize", INITIALIZE))
    server.stdin.flush()
    assert server.stdout.readline().startswith(b"Content-Length")
    if end == "it is told to":
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) == 128 + signal.SIGTERM
    else:
        server.communicate(timeout=PATIENCE)
        assert server.returncode == 0


def test_without_its_packages_the_command_names_the_line_that_installs_them(tmp_path):
    block = "import sys; sys.modules['pygls'] = None; from punchlist.cli import main; main()"
    env = {**os.environ, "PUNCHLIST_HOME": str(tmp_path / "state"), "PYTHONPATH": SOURCE}
    done = subprocess.run(
        [sys.executable, "-c", block, "lsp"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 6
    assert "pygls is not installed" in done.stderr
    assert extra_hint("lsp") in done.stderr
