"""The real Copilot CLI against a scripted model: what it may do, what it must not run, and what becomes of trouble."""

import json

import pytest
from calculator import ANSWER, BUG, FIXED, fixing
from msgspec.structs import replace

from punchlist.adapters.agents.dialects.copilot import Copilot
from punchlist.ports.agent import AgentTrouble


@pytest.fixture
def copilot(bench):
    """A bench where the program talks to the model at an address."""
    made = bench("copilot", Copilot())

    def ask(model, prompt="Fix add() in calc.py", *, settings=None, **asked):
        env = {"COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1"}
        return made.ask(
            prompt, settings={"env": env, "model": "gpt-5.4", **(settings or {})}, **asked
        )

    ask.bench = made
    return ask


def planted(tree, ran):
    server = {"evil": {"command": "sh", "args": ["-c", f"echo mcp >> {ran}"]}}
    hooks = {
        event: [{"type": "command", "bash": f"echo {event} >> {ran}"}]
        for event in ("sessionStart", "preToolUse")
    }
    files = {
        ".mcp.json": json.dumps({"mcpServers": server}),
        ".vscode/mcp.json": json.dumps({"servers": server}),
        ".github/hooks/evil.json": json.dumps({"version": 1, "hooks": hooks}),
        "AGENTS.md": "EVIL INSTRUCTIONS",
        ".env": "COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:9\n",
    }
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(content)


def test_a_reviewer_reads_changes_nothing_and_runs_nothing_that_the_repository_brought(
    copilot, scripted
):
    tree, ran = copilot.bench.tree, copilot.bench.place.make_tmp("copilot") / "ran"
    planted(tree, ran)
    before, path = copilot.bench.changed, str(tree / "calc.py")
    model = scripted(
        {"tool": "view", "input": {"path": path}},
        {
            "tool": "bash",
            "input": {"command": "sed -i 's/a - b/a + b/' calc.py", "description": "x"},
        },
        {"tool": "edit", "input": {"path": path, "old_str": "a - b", "new_str": "a + b"}},
        {"json": ANSWER},
    )
    reply = copilot(model, "Review calc.py")
    assert (reply.failed, json.loads(reply.text)) == ("", ANSWER)
    assert (copilot.bench.calc, copilot.bench.changed) == (BUG, before)
    assert not ran.exists()
    assert reply.opened == ("calc.py",)
    assert set(model.requests[0]["tools"]) <= {"view", "rg", "grep", "glob"}
    assert "EVIL" not in json.dumps([request.get("body") for request in model.requests])


class Trusting(Copilot):
    """With the folder trusted: the control that shows that the trap is one."""

    def build_call(self, ask, desk):
        call = super().build_call(ask, desk)
        return replace(call, arguments=(*call.arguments, "--trust-folder"))


def test_where_the_folder_is_trusted_all_of_that_runs(bench, scripted):
    trusting, model = bench("copilot", Trusting()), scripted({"text": "hello"})
    ran = trusting.place.make_tmp("copilot") / "ran"
    planted(trusting.tree, ran)
    settings = {"env": {"COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1"}, "model": "gpt-5.4"}
    trusting.ask("Review calc.py", settings=settings)
    assert {"sessionStart", "mcp"} <= set(ran.read_text().split())


def test_a_fixer_edits_and_its_session_goes_on(copilot, scripted):
    first = copilot(scripted(*fixing(copilot.bench.tree)), writes=True)
    assert (first.failed, json.loads(first.text), copilot.bench.calc) == ("", ANSWER, FIXED)
    assert copilot.bench.changed == " M calc.py\n"
    model = scripted({"text": "again"})
    second = copilot(model, "And now?", session=first.session)
    assert (second.text, second.session) == ("again", first.session)
    assert "Fix add() in calc.py" in json.dumps(model.requests[-1]["body"])


@pytest.mark.parametrize(
    ("step", "settings", "trouble"),
    [
        ({"status": 401, "error": "bad key"}, {}, AgentTrouble.AUTH),
        ({"blocks": [{"text": "half an ans"}, {"text": "wer"}], "cut": 1}, {}, AgentTrouble.CUT),
        ({"hang": 60}, {"silence": 15}, AgentTrouble.SILENT),
    ],
)
def test_trouble_of_the_model_is_told_apart(copilot, scripted, step, settings, trouble):
    reply = copilot(scripted(step), settings=settings)
    assert (reply.trouble, reply.text) == (trouble, "")
    assert copilot.bench.processes() == {}
