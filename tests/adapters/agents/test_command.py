"""Any program as an agent: a prompt on its input, an answer on its output or in a file."""

import json
import sys
import textwrap
import time

import pytest
from seating import asked, seat, tree

from punchlist.adapters.agents.dialects.command import CommandAgent
from punchlist.adapters.sandbox.support import sandbox_kind
from punchlist.errors import SettingsError
from punchlist.ports.agent import AgentTrouble

walled = pytest.mark.skipif(sandbox_kind() != "bubblewrap", reason="needs bubblewrap")


def program(folder, source):
    path = folder / "tools" / "program.py"
    path.parent.mkdir()
    path.write_text(f"import json, os, pathlib, sys, time\n{textwrap.dedent(source)}")
    return (sys.executable, str(path))


def test_the_prompt_is_on_its_input_and_the_answer_on_its_output(tmp_path):
    command = program(tmp_path, "print(sys.stdin.read().upper())")
    reply = asked(CommandAgent(seat(tmp_path, command=command)), tree(tmp_path), "fix f001")
    assert (reply.text, reply.failed) == ("FIX F001\n", "")


def test_it_is_heard_line_by_line(tmp_path):
    command = program(
        tmp_path, """print("I look."); print('{"text": "I found it."}'); print('{"other": 1}')"""
    )
    heard: list[str] = []
    asked(CommandAgent(seat(tmp_path, command=command)), tree(tmp_path), "fix it", heard)
    assert heard == ["I look.", "I found it."]


def test_what_it_did_in_the_tree_stays_there(tmp_path):
    command = program(
        tmp_path, "p = pathlib.Path('calc.py'); p.write_text(p.read_text().replace('-', '+'))"
    )
    folder = tree(tmp_path)
    assert not asked(CommandAgent(seat(tmp_path, command=command)), folder).failed
    assert "a + b" in (folder / "calc.py").read_text()


@walled
def test_a_reader_cannot_write_into_the_tree(tmp_path):
    command = program(tmp_path, "pathlib.Path('calc.py').write_text('')")
    folder = tree(tmp_path)
    reply = asked(CommandAgent(seat(tmp_path, command=command)), folder, writes=False)
    assert "Read-only file system" in reply.failed
    assert "a - b" in (folder / "calc.py").read_text()


@pytest.mark.parametrize("where", ["os.environ['PUNCHLIST_ANSWER']", "sys.argv[1]"])
def test_the_answer_may_be_in_a_file_which_is_not_in_the_tree(tmp_path, where):
    command = program(tmp_path, f"pathlib.Path({where}).write_text('in a file'); print('noise')")
    folder = tree(tmp_path)
    reply = asked(
        CommandAgent(seat(tmp_path, command=(*command, "{answer}"), answer="answer.json")),
        folder,
        writes=False,
    )
    assert (reply.text, reply.failed) == ("in a file", "")
    assert [path.name for path in folder.iterdir()] == ["calc.py"]


def test_a_file_of_an_earlier_try_is_no_answer(tmp_path):
    source = "n = pathlib.Path.home() / 'n'; n.exists() or pathlib.Path(os.environ['PUNCHLIST_ANSWER']).write_text('x'); n.touch()"
    agent = CommandAgent(seat(tmp_path, command=program(tmp_path, source), answer="answer.json"))
    folder = tree(tmp_path)
    assert asked(agent, folder).text == "x"
    second = asked(agent, folder)
    assert "wrote no answer" in second.failed
    assert second.trouble is AgentTrouble.CUT


def test_an_answer_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text("a secret")
    source = f"os.symlink({str(tmp_path / 'secret')!r}, os.environ['PUNCHLIST_ANSWER'])"
    reply = asked(
        CommandAgent(seat(tmp_path, command=program(tmp_path, source), answer="a")), tree(tmp_path)
    )
    assert (reply.text, reply.trouble) == ("", AgentTrouble.CUT)


def test_it_knows_what_is_asked_of_it_and_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("A_TOKEN", "a secret")
    monkeypatch.setenv("MY_KEY", "the key")
    command = program(tmp_path, "print(json.dumps(dict(os.environ)))")
    agent = CommandAgent(seat(tmp_path, command=command, keys=("MY_KEY",), env={"MORE": "yes"}))
    reply = asked(agent, tree(tmp_path), writes=False, session="s1", schema={"type": "object"})
    had = json.loads(reply.text)
    assert (had["PUNCHLIST_ROLE"], had["PUNCHLIST_WRITES"], had["PUNCHLIST_SESSION"]) == (
        "fixer",
        "0",
        "s1",
    )
    assert json.loads(had["PUNCHLIST_SCHEMA"]) == {"type": "object"}
    assert had["HOME"] == str(tmp_path / "state/run/agents/one/home")
    assert had["MORE"] == "yes"
    assert "A_TOKEN" not in had
    assert "the key" not in reply.text  # it had it, and what it prints of it is masked


@pytest.mark.parametrize(
    ("source", "trouble", "said"),
    [
        (
            "sys.exit('HTTP error 429: too many requests, retry after 7 s')",
            AgentTrouble.RATE_LIMIT,
            "429",
        ),
        ("print('rate limit'); sys.exit(3)", AgentTrouble.OTHER, "exit code 3: rate limit"),
        ("sys.exit(2)", AgentTrouble.OTHER, "exit code 2: it said nothing"),
        ("os.kill(os.getpid(), 9)", AgentTrouble.CRASHED, "signal 9"),
    ],
)
def test_an_exit_code_is_a_failure_and_only_its_error_channel_says_which(
    tmp_path, source, trouble, said
):
    reply = asked(CommandAgent(seat(tmp_path, command=program(tmp_path, source))), tree(tmp_path))
    assert reply.trouble is trouble
    assert said in reply.failed
    assert reply.retry_after == (7 if trouble is AgentTrouble.RATE_LIMIT else 0)


@pytest.mark.parametrize(
    ("settings", "trouble"),
    [({"timeout": 0.4}, AgentTrouble.TIMEOUT), ({"silence": 0.4}, AgentTrouble.SILENT)],
    ids=["time", "silence"],
)
def test_one_that_hangs_is_ended(tmp_path, settings, trouble):
    before = time.monotonic()
    reply = asked(
        CommandAgent(seat(tmp_path, command=program(tmp_path, "time.sleep(60)"), **settings)),
        tree(tmp_path),
    )
    assert reply.trouble is trouble
    assert time.monotonic() - before < 15


def test_a_program_that_is_not_there_is_missing(tmp_path):
    reply = asked(CommandAgent(seat(tmp_path, command=("no-such-agent",))), tree(tmp_path))
    assert reply.trouble is AgentTrouble.MISSING


def test_without_a_command_there_is_nothing_to_ask(tmp_path):
    with pytest.raises(
        SettingsError, match=r"agent\.mine\.command: there is no program to ask"
    ) as caught:
        CommandAgent(seat(tmp_path, "mine"))
    assert "[agent.mine] command = " in caught.value.hint
