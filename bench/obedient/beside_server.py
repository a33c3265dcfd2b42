"""A client of the HTTP server that uses every operation of its API."""

import json
import queue
import re
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

from beside_commands import UNMEASURED, run_plainly
from beside_process import PATIENCE, Process

ENDED = ("ended", "stopped", "waiting", "failed")

ISSUE = {
    "issue_id": "I-1",
    "title": "double() is slow",
    "file": "src/shop/prices.py",
    "line": 8,
    "severity": "major",
}
BODIES = {
    "register": lambda its: {"path": its["path"]},
    "start_run": lambda its: {
        "repository_id": its["repository_id"],
        "kind": "all",
        "allow_checks": True,
        "force": True,
    },
    "answer": lambda its: {"choice": "a"},
    "cancel": lambda its: None,
    "resume": lambda its: None,
    "apply": lambda its: {"squash": False},
    "discard": lambda its: None,
    "dismiss": lambda its: {"numbers": [1], "why": "fine"},
    "clarify": lambda its: {"repository_id": its["repository_id"], "issues": [ISSUE]},
    "make_plan": lambda its: {"repository_id": its["repository_id"], "issues": [ISSUE]},
    "start_fix": lambda its: {
        "repository_id": its["repository_id"],
        "issues": [ISSUE],
        "clarify": False,
    },
    "replace_master_todo": lambda its: {},
    "replace_fix_todo": lambda its: {"issue_code": "I-1"},
    "forget": lambda its: None,
}
ORDER = (
    "register",
    "start_run",
    "GET",
    "answer",
    "dismiss",
    "apply",
    "clarify",
    "make_plan",
    "start_fix",
    "replace_master_todo",
    "replace_fix_todo",
    "resume",
    "cancel",
    "discard",
    "GET",
    "forget",
)
"""Operations that change something, in turn; GET stands for all that only read."""


def drive_server(ground, repo, env):
    """Every operation of the API's own document; one that is not known here is an error."""
    code, told = run_plainly(
        ground.command(
            [
                str(ground.root / "tools/bin/punchlist"),
                "serve",
                "--new-token",
                "admin",
                "--name",
                "ada",
            ]
        ),
        repo,
        env,
    )
    token = next((word for word in told.split() if len(word) > 24), "")
    server = Process(ground, repo, env, ["serve", "--port", "0"])
    said = f"{code} {told}\n"
    try:
        address = _wait_address(server)
        if not address:
            return UNMEASURED, "the server did not begin to listen"
        document = _ask(address, token, "get", "/api/openapi.json", None)[1]
        operations = {
            each["operationId"]: (method, path)
            for path, methods in document["paths"].items()
            for method, each in methods.items()
            if method in ("get", "post", "put", "delete")
        }
        unknown = [
            name
            for name, (method, _) in operations.items()
            if method != "get" and name not in BODIES
        ]
        said += f"unknown operations: {unknown}\n" if unknown else ""
        said += _use_all(address, token, operations, {"path": str(repo)})
        return UNMEASURED if unknown else 0, said
    finally:
        server.close()


def _use_all(address, token, operations, its):
    lines = []
    for name in ORDER:
        names = (
            [each for each in operations if operations[each][0] == "get"]
            if name == "GET"
            else [name]
        )
        for each in names:
            method, path = operations[each]
            values = {
                "number": 1,
                "form": "md",
                "name": "report.md",
                "code": "I-1",
                "session_id": "x",
                "run_id": "last",
                "repository_id": "x",
                **its,
            }
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
                text = (
                    answer.read(1 << 20)
                    if "event-stream" not in answer.headers.get("content-type", "")
                    else answer.read(200)
                )
    except urllib.error.HTTPError as error:
        text, status = error.read(), error.code
    except OSError as error:
        return 0, str(error)
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text[:500].decode("utf-8", "replace")
