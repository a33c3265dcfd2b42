"""Small clients of MCP and LSP, on standard input and output."""

import json
import queue
import re
import time
from contextlib import suppress

from beside_commands import UNMEASURED
from beside_process import PATIENCE, Process

WAIT = ("run_status", {"wait_seconds": 1})
"""Asked until the run has ended."""
CALLS = (
    ("list_runs", {}),
    ("start_run", {"kind": "all", "allow_checks": True, "force": True}),
    WAIT,
    ("list_items", {}),
    ("show_item", {"item": 1}),
    ("ask_for_proof", {"items": [1]}),
    ("look_again", {"items": [1], "wait_seconds": 30}),
    ("apply_run", {}),
    (
        "submit_findings",
        {
            "findings": [
                {
                    "title": "slow",
                    "description": "x",
                    "file_path": "src/shop/prices.py",
                    "line_start": 8,
                    "severity": "major",
                }
            ]
        },
    ),
    ("start_run", {"play": ["fixer"], "kind": "all", "force": True}),
    ("next_task", {"wait_seconds": 20}),
    ("report_outcomes", {"task": "x", "outcomes": []}),
    ("answer_task", {"task": "x", "answer": {}}),
    ("give_back", {"task": "x"}),
    ("answer_question", {"choice": "a"}),
    ("cancel_run", {}),
    ("resume_run", {}),
)


def drive_mcp(ground, repo, env):
    """Every tool that the server offers; one that is not called here is an error."""
    server = Process(ground, repo, env, ["mcp", "--role", "admin"])
    link = Lines(server)
    try:
        link.ask(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        )
        link.tell("notifications/initialized", {})
        offered = [each["name"] for each in (link.ask("tools/list", {}) or {}).get("tools", [])]
        unknown = [name for name in offered if name not in dict(CALLS)]
        lines = [f"offered: {offered}"]
        for name, arguments in CALLS:
            answer = _call(link, name, arguments)
            lines.append(f"{name}: {str(answer)[:200]}")
        return UNMEASURED if unknown or not offered else 0, "\n".join(
            [f"unknown tools: {unknown}", *lines]
        )
    finally:
        server.close()


def _call(link, name, arguments):
    """The answer of a tool; a status is asked for until the run stands still."""
    until = time.monotonic() + PATIENCE
    while True:
        answer = link.ask("tools/call", {"name": name, "arguments": arguments})
        again = name == "run_status" and '"state":"under way"' in json.dumps(answer).replace(
            "\\", ""
        )
        if not again or time.monotonic() > until:
            return answer


class Lines:
    """JSON-RPC, a message in a line."""

    def __init__(self, server):
        self.server, self.number, self.rest, self.news = server, 0, b"", []

    def tell(self, method, params):
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method, params):
        """The result; None if it is an error or does not come."""
        self.number += 1
        self.write({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for message in self.read():
                if message.get("id") == self.number and "method" not in message:
                    return message.get("result", message.get("error"))
                if "id" in message:  # the server asks its client
                    self.write({"jsonrpc": "2.0", "id": message["id"], "result": None})
                else:
                    self.news.append(message)
            if self.server.process.poll() is not None:
                break
        return None

    def write(self, message):
        self.server.send(json.dumps(message).encode() + b"\n")

    def read(self):
        with suppress(queue.Empty):
            self.rest += self.server.pieces.get(timeout=0.2)
        *lines, self.rest = self.rest.split(b"\n")
        return [json.loads(line) for line in lines if line.strip()]


class Framed(Lines):
    """JSON-RPC with headers."""

    def write(self, message):
        content = json.dumps(message).encode()
        self.server.send(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))

    def read(self):
        with suppress(queue.Empty):
            self.rest += self.server.pieces.get(timeout=0.2)
        found = []
        while match := re.match(
            rb"(?:[^\r\n]+\r\n)*?Content-Length: (\d+)\r\n(?:[^\r\n]+\r\n)*\r\n", self.rest
        ):
            start, size = match.end(), int(match[1])
            if len(self.rest) < start + size:
                break
            found.append(json.loads(self.rest[start : start + size]))
            self.rest = self.rest[start + size :]
        return found


def drive_lsp(ground, repo, env):
    """Open, change and save files, ask for actions, and take each that is offered."""
    server = Process(ground, repo, env, ["lsp"])
    link = Framed(server)
    lines = []
    try:
        began = link.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": repo.as_uri(),
                "workspaceFolders": [{"uri": repo.as_uri(), "name": "x"}],
                "capabilities": {"window": {"workDoneProgress": True}},
            },
        )
        lines.append(str(began)[:200])
        link.tell("initialized", {})
        commands = set()
        for name in ("src/shop/prices.py", "src/web/app.js", "build.sh"):
            uri, text = (repo / name).as_uri(), (repo / name).read_text()
            link.tell(
                "textDocument/didOpen",
                {"textDocument": {"uri": uri, "languageId": "x", "version": 1, "text": text}},
            )
            _listen(link, 30, "textDocument/publishDiagnostics")
            link.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
            _listen(link, 10, "textDocument/publishDiagnostics")
            place = {"start": {"line": 0, "character": 0}, "end": {"line": 20, "character": 0}}
            diagnostics = [
                each
                for news in link.news
                for each in news.get("params", {}).get("diagnostics", [])
                if news["params"].get("uri") == uri
            ]
            actions = (
                link.ask(
                    "textDocument/codeAction",
                    {
                        "textDocument": {"uri": uri},
                        "range": place,
                        "context": {"diagnostics": diagnostics},
                    },
                )
                or []
            )
            lines.append(f"{name}: {len(diagnostics)} diagnostics, {len(actions)} actions")
            for action in actions if isinstance(actions, list) else ():
                order = action.get("command") if isinstance(action, dict) else None
                if isinstance(order, dict) and order["command"] not in commands:
                    commands.add(order["command"])
                    lines.append(
                        f"{order['command']}: {link.ask('workspace/executeCommand', {'command': order['command'], 'arguments': order.get('arguments', [])})}"
                    )
                    _listen(link, 15)
        link.tell(
            "workspace/didChangeWatchedFiles",
            {"changes": [{"uri": (repo / "pyproject.toml").as_uri(), "type": 2}]},
        )
        _listen(link, 3)
        link.ask("shutdown", None)
        link.tell("exit", None)
        return 0 if began else UNMEASURED, "\n".join(lines)
    finally:
        server.close()


def _listen(link, seconds, method=""):
    """Take in what the server says, until a message of this method has come."""
    until, heard = time.monotonic() + seconds, False
    while time.monotonic() < until and not heard:
        for message in link.read():
            heard = heard or (bool(method) and message.get("method") == method)
            if "id" in message and "method" in message:
                link.write({"jsonrpc": "2.0", "id": message["id"], "result": None})
            else:
                link.news.append(message)
