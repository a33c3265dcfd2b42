"""Small clients of the surfaces that stay: the HTTP server, LSP, MCP, and a worker with a database."""

import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

from beside_commands import end, run_plainly
from world import ROOT

PATIENCE = 90
ENDED = ("ended", "stopped", "waiting", "failed")


class Process:
    """A surface that was started; what it prints is read line by line."""

    def __init__(self, ground, repo, env, words):
        command = ground.command([str(ground.root / "tools/bin/punchlist"), *words])
        self.log = (ground.root / "surface.log").open("wb")
        self.process = subprocess.Popen(
            command, cwd=repo, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, start_new_session=True
        )
        self.pieces = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with suppress(OSError, ValueError):
            while piece := os.read(self.process.stdout.fileno(), 65536):
                self.pieces.put(piece)
        self.pieces.put(b"")

    def send(self, content):
        with suppress(BrokenPipeError, OSError):
            self.process.stdin.write(content)
            self.process.stdin.flush()

    def close(self):
        with suppress(OSError):
            self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        end(self.process)
        self.log.close()
        return self.process.returncode


# -- HTTP

ISSUE = {"issue_id": "I-1", "title": "double() is slow", "file": "src/shop/prices.py", "line": 8, "severity": "major"}
BODIES = {
    "register": lambda its: {"path": its["path"]},
    "start_run": lambda its: {"repository_id": its["repository_id"], "kind": "all", "allow_checks": True, "force": True},
    "answer": lambda its: {"choice": "a"},
    "cancel": lambda its: None,
    "resume": lambda its: None,
    "apply": lambda its: {"squash": False},
    "discard": lambda its: None,
    "dismiss": lambda its: {"numbers": [1], "why": "fine"},
    "clarify": lambda its: {"repository_id": its["repository_id"], "issues": [ISSUE]},
    "make_plan": lambda its: {"repository_id": its["repository_id"], "issues": [ISSUE]},
    "start_fix": lambda its: {"repository_id": its["repository_id"], "issues": [ISSUE], "clarify": False},
    "replace_master_todo": lambda its: {},
    "replace_fix_todo": lambda its: {"issue_code": "I-1"},
    "forget": lambda its: None,
}
ORDER = ("register", "start_run", "GET", "answer", "dismiss", "apply", "clarify", "make_plan", "start_fix", "replace_master_todo",
         "replace_fix_todo", "resume", "cancel", "discard", "GET", "forget")
"""Operations that change something, in turn; GET stands for all that only read."""


def drive_server(ground, repo, env):
    """Every operation of the API's own document; one that is not known here is an error."""
    code, told = run_plainly(ground.command([str(ground.root / "tools/bin/punchlist"), "serve", "--new-token", "admin", "--name", "ada"]), repo, env)
    token = next((word for word in told.split() if len(word) > 24), "")
    server = Process(ground, repo, env, ["serve", "--port", "0"])
    said = f"{code} {told}\n"
    try:
        address = _wait_address(server)
        if not address:
            return -1, "the server did not begin to listen"
        document = _ask(address, token, "get", "/api/openapi.json", None)[1]
        operations = {
            each["operationId"]: (method, path)
            for path, methods in document["paths"].items()
            for method, each in methods.items()
            if method in ("get", "post", "put", "delete")
        }
        unknown = [name for name, (method, _) in operations.items() if method != "get" and name not in BODIES]
        said += f"unknown operations: {unknown}\n" if unknown else ""
        said += _use_all(address, token, operations, {"path": str(repo)})
        return -2 if unknown else 0, said
    finally:
        server.close()


def _use_all(address, token, operations, its):
    lines = []
    for name in ORDER:
        names = [each for each in operations if operations[each][0] == "get"] if name == "GET" else [name]
        for each in names:
            method, path = operations[each]
            values = {"number": 1, "form": "md", "name": "report.md", "code": "I-1", "session_id": "x", "run_id": "last", "repository_id": "x", **its}
            path = re.sub(r"\{(\w+)\}", lambda match, values=values: str(values[match[1]]), path)
            body = BODIES[each](values) if each in BODIES else None
            status, answer = _ask(address, token, method, path, body)
            lines.append(f"{each}: {status} {str(answer)[:200]}")
            _learn(each, answer, its)
            if each in ("start_run", "resume"):
                lines.append(_wait_run(address, token, its))
    return "\n".join(lines)


def _learn(name, answer, its):
    if isinstance(answer, dict):
        if name == "register":
            its["repository_id"] = answer.get("id") or answer.get("repository_id") or "x"
        if name == "start_run":
            its["run_id"] = answer.get("run") or answer.get("run_id") or answer.get("id") or "x"
        if name in ("make_plan", "clarify"):
            its["session_id"] = answer.get("session_id") or "x"


def _wait_run(address, token, its):
    until = time.monotonic() + PATIENCE
    state = ""
    while time.monotonic() < until:
        _, answer = _ask(address, token, "get", f"/api/runs/{its.get('run_id', 'x')}", None)
        state = answer.get("state", "") if isinstance(answer, dict) else ""
        if state in ENDED or not state:
            break
        time.sleep(0.3)
    return f"the run is {state}"


def _wait_address(server):
    told, until = b"", time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with suppress(queue.Empty):
            told += server.pieces.get(timeout=0.2)
        told_there = told + Path(server.log.name).read_bytes()
        if found := re.search(rb"listening on (http://\S+)", told_there):
            return found[1].decode().rstrip("/")
        if server.process.poll() is not None:
            break
    return ""


def _ask(address, token, method, path, body):
    request = urllib.request.Request(
        f"{address}{path}",
        data=None if body is None else json.dumps(body).encode(),
        method=method.upper(),
        headers={"authorization": f"Bearer {token}", "content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            text, status = b"", answer.status
            with suppress(TimeoutError, OSError):
                text = answer.read(1 << 20) if "event-stream" not in answer.headers.get("content-type", "") else answer.read(200)
    except urllib.error.HTTPError as error:
        text, status = error.read(), error.code
    except OSError as error:
        return 0, str(error)
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text[:500].decode("utf-8", "replace")


# -- MCP

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
    ("submit_findings", {"findings": [{"title": "slow", "description": "x", "file_path": "src/shop/prices.py", "line_start": 8, "severity": "major"}]}),
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
        link.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        link.tell("notifications/initialized", {})
        offered = [each["name"] for each in (link.ask("tools/list", {}) or {}).get("tools", [])]
        unknown = [name for name in offered if name not in dict(CALLS)]
        lines = [f"offered: {offered}"]
        for name, arguments in CALLS:
            answer = _call(link, name, arguments)
            lines.append(f"{name}: {str(answer)[:200]}")
        return -2 if unknown or not offered else 0, "\n".join([f"unknown tools: {unknown}", *lines])
    finally:
        server.close()


def _call(link, name, arguments):
    """The answer of a tool; a status is asked for until the run stands still."""
    until = time.monotonic() + PATIENCE
    while True:
        answer = link.ask("tools/call", {"name": name, "arguments": arguments})
        again = name == "run_status" and '"state":"under way"' in json.dumps(answer).replace("\\", "")
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


# -- LSP


class Framed(Lines):
    """JSON-RPC with headers."""

    def write(self, message):
        content = json.dumps(message).encode()
        self.server.send(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))

    def read(self):
        with suppress(queue.Empty):
            self.rest += self.server.pieces.get(timeout=0.2)
        found = []
        while match := re.match(rb"(?:[^\r\n]+\r\n)*?Content-Length: (\d+)\r\n(?:[^\r\n]+\r\n)*\r\n", self.rest):
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
        began = link.ask("initialize", {"processId": None, "rootUri": repo.as_uri(), "workspaceFolders": [{"uri": repo.as_uri(), "name": "x"}],
                                        "capabilities": {"window": {"workDoneProgress": True}}})
        lines.append(str(began)[:200])
        link.tell("initialized", {})
        commands = set()
        for name in ("src/shop/prices.py", "src/web/app.js", "build.sh"):
            uri, text = (repo / name).as_uri(), (repo / name).read_text()
            link.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "x", "version": 1, "text": text}})
            _listen(link, 30, "textDocument/publishDiagnostics")
            link.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
            _listen(link, 10, "textDocument/publishDiagnostics")
            place = {"start": {"line": 0, "character": 0}, "end": {"line": 20, "character": 0}}
            diagnostics = [each for news in link.news for each in news.get("params", {}).get("diagnostics", []) if news["params"].get("uri") == uri]
            actions = link.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": place, "context": {"diagnostics": diagnostics}}) or []
            lines.append(f"{name}: {len(diagnostics)} diagnostics, {len(actions)} actions")
            for action in actions if isinstance(actions, list) else ():
                order = action.get("command") if isinstance(action, dict) else None
                if isinstance(order, dict) and order["command"] not in commands:
                    commands.add(order["command"])
                    lines.append(f"{order['command']}: {link.ask('workspace/executeCommand', {'command': order['command'], 'arguments': order.get('arguments', [])})}")
                    _listen(link, 15)
        link.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": (repo / "pyproject.toml").as_uri(), "type": 2}]})
        _listen(link, 3)
        link.ask("shutdown", None)
        link.tell("exit", None)
        return 0 if began else -1, "\n".join(lines)
    finally:
        server.close()


def _listen(link, seconds, method=""):
    """Take in what the server says, until a message of this method has come."""
    until, heard = time.monotonic() + seconds, False
    while time.monotonic() < until and not heard:
        for message in link.read():
            heard = heard or bool(method) and message.get("method") == method
            if "id" in message and "method" in message:
                link.write({"jsonrpc": "2.0", "id": message["id"], "result": None})
            else:
                link.news.append(message)


# -- a fleet


@contextmanager
def open_database():
    """The address of a database server, or '' where PostgreSQL is missing."""
    sys.path.insert(0, str(ROOT / "tests"))
    from postgres_server import find_programs, start_server

    if not find_programs():
        yield ""
        return
    with start_server() as server:
        server.make_database("beside")
        yield f"{server.url}/beside"


QUEUED = (
    ("store", "upgrade"),
    ("store", "copy", "sqlite", "STORE"),
    ("schedule", "add", "nightly", "--cron", "0 3 * * *", "--yes"),
    ("schedule", "list"),
    ("run", "--queue", "--yes", "--all"),
    ("queue",),
    ("worker",),
    ("queue", "--json"),
    ("fleet", "--json"),
    ("schedule", "remove", "nightly"),
)


def drive_fleet(ground, repo, env, store):
    """Queue a run and let a worker drive it, with the commands that belong to a fleet."""
    if not store:
        return -3, "PostgreSQL is missing"
    env = {**env, "PUNCHLIST_STORE": store, "PUNCHLIST_OBJECTS": str(ground.home / "objects")}
    lines = []
    for words in QUEUED:
        words = [store if word == "STORE" else word for word in words]
        if words == ["worker"]:
            lines.append(_work(ground, repo, env))
            continue
        command = ground.command([str(ground.root / "tools/bin/punchlist"), *words])
        code, told = run_plainly(command, repo, {**env, "PUNCHLIST_STORE": ""} if "copy" in words else env)
        lines.append(f"{' '.join(words)}: {code} {told[-400:]}")
    return 0, "\n".join(lines)


def _work(ground, repo, env):
    """A worker, until nothing is queued or running."""
    worker = Process(ground, repo, env, ["worker", "--drain", "1"])
    command = ground.command([str(ground.root / "tools/bin/punchlist"), "queue", "--json"])
    told, until = "", time.monotonic() + PATIENCE
    while time.monotonic() < until:
        _, told = run_plainly(command, repo, env)
        with suppress(ValueError):
            state = json.loads(told)
            if not any(state.get(each) for each in ("queued", "running", "runs")):
                break
        time.sleep(0.5)
    worker.close()
    return f"worker: {worker.process.returncode} {told[:300]} {(ground.root / 'surface.log').read_text()[-600:]}"


SURFACES = {"serve": drive_server, "mcp": drive_mcp, "lsp": drive_lsp}
FLEET = ("worker", "queue", "schedule add", "schedule list", "schedule remove", "store upgrade", "store copy")
