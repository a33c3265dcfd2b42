"""A small agent that speaks the Agent Client Protocol: plays the steps of PARROT_PLAN, and notes in its home what it heard."""

import json
import os
import sys
import time
from pathlib import Path

PLAN = json.loads(os.environ.get("PARROT_PLAN", "{}"))
NOTES = Path.home() / "heard.jsonl"
SESSION = "s-1"


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(**values):
    send(method="session/update", params={"sessionId": SESSION, "update": values})


def say(text):
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def heard():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    with NOTES.open("a") as notes:
        notes.write(line)
    return json.loads(line)


def play(step, number):
    match step:
        case {"say": text}:
            say(text)
        case {"update": values}:
            update(**values)
        case {"call": method, **rest}:
            send(id=f"mine-{number}", method=method, params=rest.get("params", {}))
            while heard().get("id") != f"mine-{number}":
                pass
        case {"sleep": seconds}:
            time.sleep(seconds)
        case {"until": method}:
            while heard().get("method") != method:
                pass
        case {"die": code}:
            print("parrot: dying", file=sys.stderr)
            sys.exit(code)
        case {"noise": text}:
            print(text, flush=True)


def answer(request):
    match request["method"]:
        case "initialize":
            send(
                id=request["id"],
                result={"protocolVersion": 1, "agentCapabilities": PLAN.get("capabilities", {})},
            )
        case "session/new":
            send(id=request["id"], result={"sessionId": SESSION, "modes": PLAN.get("modes")})
        case "session/load" if PLAN.get("lost"):
            send(id=request["id"], error={"code": -32603, "message": "no such session"})
        case "session/load":
            say("what was said long ago")
            send(id=request["id"], result=None)
        case "session/set_mode":
            send(id=request["id"], result={})
        case "session/prompt":
            for number, step in enumerate(PLAN.get("turn", [])):
                play(step, number)
            end = PLAN.get("end", {"result": {"stopReason": "end_turn"}})
            send(id=request["id"], **end)
            time.sleep(PLAN.get("linger", 0))


if PLAN.get("deaf"):
    time.sleep(60)
while True:
    message = heard()
    if "id" in message and "method" in message:
        answer(message)
