"""Real coding agents as clients: they start the server from the configuration it prints, and fix a fault through its tools."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import realcli
from clients import SOURCE
from stubmodel import StubModel
from workbench import EDITS, finding

from folders import tmp_path_factory

__all__ = ["tmp_path_factory"]

KEY = "sk-dummy-0123456789abcdef"
_FOLDER = re.compile(r"/[^\s\"'\\<>]*/trees/kept-[0-9a-f]+")
_TASK = re.compile(r"\d{6}-[0-9a-f]{6}/[0-9a-f]{12}")
_RUN = re.compile(r"\d{6}-[0-9a-f]{6}")
_ENDED = re.compile(r"state\W+ended")
_PROVEN = re.compile(r"proven\W+true")
PATH, OLD, NEW = EDITS["cheapest"]
ENOUGH = 40


class Worker(StubModel):
    """A model that works through a punch list with whatever tools its client offers."""

    def __init__(self) -> None:
        super().__init__({})
        self._opened = False

    def pick(self, request, raw):
        if not any(name.endswith("next_task") or name == "tool_search" for name in request.tools):
            return "side", {"text": "t"}
        step = self._next(raw) if request.rounds < ENOUGH else {"text": "I give up."}
        self._opened = self._opened or step.get("tool") == "@read"
        return step.get("tool", "end"), self._named(step, request.tools)

    def _next(self, raw):
        """By what was said so far: a call that came before the server was there is made again."""
        folder, task = (next(reversed(pattern.findall(raw)), "") for pattern in (_FOLDER, _TASK))
        said = {"id": "F001", "outcome": "fixed", "explanation": "the first is the least"}
        found = {"findings": [finding("cheapest")], "workflow": "verified", "play": ["fixer"]}
        edit = {"path": f"{folder}/{PATH}", "old": f"    return {OLD}", "new": f"    return {NEW}"}
        steps = {
            "submit_findings": (_RUN.search(raw), found),
            "next_task": (task, {"wait_seconds": 60}),
            "@read": (self._opened, {"path": f"{folder}/{PATH}"}),
            "@edit": (
                folder and ("recorded as claims" in raw or NEW in Path(folder, PATH).read_text()),
                edit,
            ),
            "report_outcomes": ("recorded as claims" in raw, {"task": task, "outcomes": [said]}),
            "run_status": (_ENDED.search(raw), {"after": 10**6, "wait_seconds": 5}),
            "ask_for_proof": (_PROVEN.search(raw), {"items": [1]}),
        }
        return next(
            ({"tool": name, "input": given} for name, (done, given) in steps.items() if not done),
            {"text": "All done."},
        )

    def _named(self, step, offered):
        """The tool by the name that the client gives it; one that shows its tools only on request has a space of names for them."""
        name = step.get("tool", "@")
        if name.startswith("@"):
            return step
        found = next((known for known in offered if known.endswith(name)), "")
        return {**step, "tool": found} if found else {**step, "namespace": "mcp__punchlist"}


def configuration(place, client):
    line = place.command("--print-config", client)
    return subprocess.run(
        line, cwd=place.repo.root, env=place.env, capture_output=True, text=True, check=True
    )


def claude(place, url):
    done = configuration(place, "claude")
    told = json.loads(done.stdout)
    trees = done.stderr.split("--add-dir ")[1].strip()
    told["mcpServers"]["punchlist"]["env"]["PYTHONPATH"] = SOURCE
    (place.folder / "mcp.json").write_text(json.dumps(told))
    line = [
        *realcli.command("claude"),
        "-p",
        "--output-format",
        "json",
        "--setting-sources",
        "",
        "--strict-mcp-config",
    ]
    line += ["--mcp-config", str(place.folder / "mcp.json"), "--add-dir", trees]
    line += ["--permission-mode", "dontAsk", "--allowedTools", "mcp__punchlist,Read,Edit"]
    env = {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return line, {**env, "ENABLE_TOOL_SEARCH": "false"}  # all tools are shown at once


def codex(place, url):
    told = configuration(place, "codex").stdout
    (trees,) = tomllib.loads(told)["sandbox_workspace_write"]["writable_roots"]
    assert trees.startswith(f"{place.home}/repos/")
    home = place.folder / "codex"
    home.mkdir()
    approved = told.replace(
        "tool_timeout_sec", 'default_tools_approval_mode = "approve"\ntool_timeout_sec'
    )
    approved = approved.replace("env = {", f"env = {{ PYTHONPATH = {json.dumps(SOURCE)},")
    provider = f'[model_providers.stub]\nname = "stub"\nbase_url = "{url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
    (home / "config.toml").write_text(
        f'model_provider = "stub"\nmodel = "gpt-5.5"\n{approved}\n{provider}'
    )
    line = [
        *realcli.command("codex"),
        "exec",
        "--json",
        "--skip-git-repo-check",
        "-s",
        "workspace-write",
        "-",
    ]
    (place.folder / "tmp").mkdir()  # in the usual place for temporary files it would refuse to live
    return line, {
        "OPENAI_API_KEY": KEY,
        "CODEX_HOME": str(home),
        "TMPDIR": str(place.folder / "tmp"),
    }


@pytest.mark.parametrize(
    "client",
    [codex, pytest.param(claude, marks=pytest.mark.soak)],
    ids=lambda client: client.__name__,
)
def test_a_real_agent_fixes_through_the_tools_and_the_fix_is_proven(place, client):
    with Worker() as model:
        line, own = client(place, model.url)
        env = {**place.env, **own, "PATH": f"{Path(realcli.node()).parent}:{place.env['PATH']}"}
        done = subprocess.run(
            line,
            cwd=place.repo.root,
            env=env,
            input="Work through the list.",
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        played = [call["rule"] for call in model.calls if call["rule"] != "side"]
    assert "All done." in done.stdout, f"{played}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert played[-2:] == ["ask_for_proof", "end"]

    async def story(agent):
        return await agent.call("run_status"), await agent.call("ask_for_proof", items=[1])

    status, proof = place.do(story)
    assert (status["state"], status["by_status"]["fixed"]) == ("ended", 1)
    assert proof["items"][0]["proven"] is True
    assert place.repo.git("show", f"{status['branch']}:{PATH}").endswith(f"return {NEW}")
