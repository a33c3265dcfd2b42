"""The doctor on agents: which are there, in which version, and, only when it is told to ask, whether they answer."""

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from punchlist.adapters.agents import detect as presence
from punchlist.adapters.agents.detect import KNOWN, detect_agents
from punchlist.adapters.agents.registry import AGENTS
from punchlist.adapters.agents.settings import AgentSettings, AgentsSettings
from punchlist.app.doctor import WORD, Probe, ask_agents, run_probes
from punchlist.cli.commands.doctor import command
from punchlist.errors import UsageError
from punchlist.settings import Settings


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A PATH with nothing on it but what the test puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, source: str) -> Path:
    made = folder / name
    made.write_text(f"#!{sys.executable}\nimport sys, os, time, pathlib\n{source}\n")
    made.chmod(0o755)
    return made


def looked(*names, **own):
    return {found.name: found for found in asyncio.run(detect_agents(names, own))}


def test_the_known_programs_are_those_that_have_a_kind_of_their_own():
    assert set(KNOWN) | {"acp", "command", "outside", "scripted", "dry"} == set(AGENTS)


def test_a_program_on_the_path_is_found_with_its_version(path):
    program(path, "claude", "print('2.1.325 (Claude Code)')")
    program(path, "codex", "print('codex-cli 0.166.0')")
    found = looked(*KNOWN)
    assert (found["claude"].version, found["codex"].version) == ("2.1.325", "0.166.0")
    assert (found["gemini"].found, found["gemini"].note) == (False, "not installed")


@pytest.mark.parametrize(
    "source", ["time.sleep(60)", "sys.exit(1)", "print('hello')", "os.kill(os.getpid(), 9)"]
)
def test_one_that_says_no_version_is_there_all_the_same_and_not_waited_for(
    path, monkeypatch, source
):
    monkeypatch.setattr(presence, "SECONDS", 0.5)
    program(path, "claude", source)
    before = time.monotonic()
    found = looked("claude")["claude"]
    assert (found.found, found.version) == (True, "")
    assert "says no version" in found.note
    assert time.monotonic() - before < 10


def test_it_leaves_nothing_in_the_home_of_the_user(path, isolated):
    program(path, "claude", "pathlib.Path.home().joinpath('.claude').write_text(''); print('1.0')")
    assert looked("claude")["claude"].version == "1.0"
    assert not (isolated / ".claude").exists()


def test_programs_of_the_user_are_not_started(path, tmp_path):
    made = program(path, "mine", f"pathlib.Path({str(tmp_path / 'started')!r}).touch()")
    found = looked(
        "mine",
        "his",
        mine=AgentSettings(kind="command", command=("mine", "-x")),
        his=AgentSettings(kind="acp"),
    )
    assert (found["mine"].found, found["mine"].note) == (True, f"{made} -x")
    assert "agent.his.command names no program" in found["his"].note
    assert not (tmp_path / "started").exists()


def test_a_script_is_read_and_a_bad_one_told(tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text("[]")
    bad.write_text('[{"rol": 1}]')
    own = {
        name: AgentSettings(kind="scripted", script=str(tmp_path / f"{name}.json"))
        for name in ("good", "bad")
    }
    found = looked("good", "bad", "dry", "scripted", **own)
    assert found["good"].found
    assert found["dry"].found
    assert "lines[0]" in found["bad"].note
    assert "agent.scripted.script names no script" in found["scripted"].note


def test_an_agent_in_use_that_is_not_there_is_missing_and_others_are_only_absent(path, tmp_path):
    settings = Settings(agents=AgentsSettings(use=("claude", "cluade")))
    found = {probe.name: probe for probe in asyncio.run(run_probes(tmp_path, None, settings))}
    assert (found["agent claude"].needed, found["agent claude"].found) == (True, False)
    assert "no kind of agent called 'cluade'" in found["agent cluade"].note
    assert not found["agent gemini"].needed


def scripted(folder: Path, *lines: dict) -> AgentSettings:
    path = folder / "script.json"
    path.write_text(json.dumps({"lines": lines, "log": "calls.jsonl"}))
    return AgentSettings(kind="scripted", script=str(path))


def asked(folder: Path, **own: AgentSettings) -> dict[str, Probe]:
    settings = Settings(agents=AgentsSettings(use=tuple(own)), agent=own)
    return {probe.name: probe for probe in asyncio.run(ask_agents(folder / "home", settings))}


def test_who_answers_is_shown_with_what_it_said_and_cost(tmp_path):
    usage = {"input_tokens": 1200, "output_tokens": 3, "dollars": 0.0125}
    found = asked(
        tmp_path, good=scripted(tmp_path, {"role": "doctor", "answer": "pong\n", "usage": usage})
    )["ask good"]
    assert (found.found, found.mark) == (True, "answers")
    assert found.note == 'said "pong"; 1,200 tokens in, 3 out, $0.013'


def test_who_does_not_answer_is_shown_with_why_and_what_to_do(tmp_path):
    fail = {"trouble": "auth", "text": "401: bad key"}
    found = asked(
        tmp_path,
        locked=scripted(tmp_path, {"fail": fail}),
        gone=AgentSettings(kind="command", command=("no-such-program",)),
        empty=AgentSettings(kind="acp"),
    )
    assert not any(probe.found for probe in found.values())
    assert found["ask locked"].note == (
        "401: bad key; set its key in your environment, or name its login files in agent.locked.login"
    )
    assert "install it, or name the program in agent.gone.command" in found["ask gone"].note
    assert "agent.empty.command" in found["ask empty"].note


def test_they_are_asked_in_an_empty_folder(tmp_path):
    made = program(tmp_path, "mine", "print(os.listdir('.'), sys.stdin.read())")
    found = asked(
        tmp_path, mine=AgentSettings(kind="command", command=(sys.executable, str(made)))
    )["ask mine"]
    assert found.found, found.note
    assert found.note.startswith('said "[] ')
    assert WORD in found.note
    assert "cost not reported" in found.note


def test_where_nobody_is_in_use_there_is_nobody_to_ask(tmp_path):
    with pytest.raises(UsageError, match=r"no agent to ask: agents\.use names no agent"):
        asyncio.run(ask_agents(tmp_path, Settings()))


def test_nobody_is_asked_without_the_flag(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(tmp_path / "settings.toml"))
    own = scripted(tmp_path, {"answer": "pong"})
    (tmp_path / "settings.toml").write_text(
        f'[agent.good]\nkind = "scripted"\nscript = "{own.script}"\n'
    )
    told = CliRunner().invoke(command, ["--set", "agents.use=good"])
    assert "agent good" in told.output
    assert not (tmp_path / "calls.jsonl").exists()
    told = CliRunner().invoke(command, ["--ask", "--set", "agents.use=good"])
    assert "answers" in told.output
    assert (tmp_path / "calls.jsonl").read_text().count("\n") == 1
