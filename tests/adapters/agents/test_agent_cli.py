"""Any agent that is a command: what it is given, what it may touch, and what becomes of what it prints."""

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import AgentSetup, CliAgent, make_filename, subtract_usage
from punchlist.adapters.agents.dialect import AgentCall, ParsedReply, Unmetered
from punchlist.adapters.agents.home import AgentPlace
from punchlist.adapters.agents.json_lines import parse_events
from punchlist.adapters.agents.model_access import ModelAccess
from punchlist.adapters.agents.registry import build_agent
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.sandbox.support import sandbox_kind
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.errors import SettingsError
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask

walled = pytest.mark.skipif(sandbox_kind() != "bubblewrap", reason="needs bubblewrap")
SAY = "import json,os,sys,time,pathlib; say=lambda **e: print(json.dumps(e), flush=True); "


class Parrot(Unmetered):
    """A dialect whose program is whatever the prompt says, in Python."""

    program = sys.executable
    keys = ("PARROT_API_KEY",)
    access = ModelAccess()
    cumulative = ("input_tokens",)

    def build_call(self, ask, desk):
        return AgentCall(
            arguments=("-c", SAY + ask.prompt), stdin="a question", files={"conf/parrot.json": "{}"}
        )

    def describe_event(self, event):
        return event.text("say")

    def parse_output(self, ran, ask):
        found = list(parse_events(ran.stdout))
        for event in found:
            if event.text("type") == "result":
                usage = Usage(input_tokens=event.count("tokens"), output_tokens=event.count("out"))
                return ParsedReply(
                    text=event.text("text"),
                    session=event.text("session"),
                    usage=usage,
                    opened=tuple(e.text("open") for e in found),
                )
            if event.text("type") == "error":
                return ParsedReply(
                    failed=event.text("text"), trouble=troubles.classify_error(event.text("text"))
                )
        failed, trouble = troubles.explain_no_result(ran)
        return ParsedReply(failed=failed, trouble=trouble)


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "state" / "trees" / "one"
    folder.mkdir(parents=True)
    (folder / "calc.py").write_text("a - b\n")
    return folder


@pytest.fixture
def asked(tmp_path, tree):
    """Asks a parrot to do something, and returns its reply."""
    user = tmp_path / "user"
    user.mkdir()
    artifacts = FolderArtifacts(tmp_path / "state" / "run" / "artifacts")
    place = AgentPlace(
        folder=tmp_path / "state" / "run" / "agents", state=tmp_path / "state", user=user
    )

    def ask(program, heard=None, *, settings=None, **options):
        options = {"role": "reviewer", "label": "review/1", "folder": tree, **options}
        sandbox = options.pop("sandbox", True)
        own = AgentSettings(**{"timeout": 20, "silence": 10, **(settings or {})})
        agent = CliAgent(
            Parrot(),
            AgentSetup("polly", own, msgspec.structs.replace(place, sandbox=sandbox), artifacts),
        )
        said = [] if heard is None else heard
        reply = asyncio.run(agent.ask(Ask(prompt=program, **options), said.append))
        assert artifacts.read(reply.transcript) is not None
        ask.transcript = artifacts.read(reply.transcript).decode()
        return reply

    ask.user, ask.place = user, place
    return ask


def test_the_answer_is_what_the_result_event_says_and_pieces_are_heard_on_the_way(asked):
    heard = []
    reply = asked(
        "say(say='one'); say(say='two'); say(type='result', text=sys.stdin.read(), session='s1', out=7)",
        heard,
    )
    assert (reply.agent, reply.text, reply.session, reply.failed, reply.trouble) == (
        "polly",
        "a question",
        "s1",
        "",
        None,
    )
    assert heard == ["one", "two"]
    assert reply.usage.output_tokens == 7
    assert reply.usage.seconds > 0
    assert (
        reply.transcript
        == "calls/review-1-" + make_filename("review/1").rpartition("-")[2] + ".polly.1.jsonl"
    )
    assert '"say": "one"' in asked.transcript


@pytest.mark.parametrize(
    ("program", "trouble", "words"),
    [
        ("pass", AgentTrouble.CUT, "it ended without a result"),
        (
            "say(say='rate limit 429, invalid api key')",
            AgentTrouble.CUT,
            "it ended without a result",
        ),
        (
            "sys.exit('boom')",
            AgentTrouble.CRASHED,
            "it ended with code 1 and without a result: boom",
        ),
        ("sys.exit('HTTP 429 slow down')", AgentTrouble.RATE_LIMIT, "429"),
        ("say(type='error', text='status 401: bad key')", AgentTrouble.AUTH, "status 401"),
        (
            "say(type='error', text='status 401: bad key'); sys.exit(145)",
            AgentTrouble.AUTH,
            "status 401",
        ),
        ("os.kill(os.getpid(), 9)", AgentTrouble.CRASHED, "ended by signal 9"),
        (
            "say(type='result', text='fine'); os.kill(os.getpid(), 9)",
            AgentTrouble.CRASHED,
            "ended by signal 9",
        ),
    ],
)
def test_trouble_is_told_from_the_error_channel_and_never_from_the_answer(
    asked, program, trouble, words
):
    reply = asked(program)
    assert reply.trouble is trouble
    assert words in reply.failed


def test_hanging_and_taking_too_long_are_told_apart(asked):
    silent = asked("say(type='result', text='x'); time.sleep(60)", settings={"silence": 0.7})
    late = asked(
        "[(say(say='hm'), time.sleep(0.1)) for _ in range(600)]",
        settings={"timeout": 1.2, "silence": 1},
    )
    assert (silent.trouble, silent.failed) == (AgentTrouble.SILENT, "silent for 0.7 s")
    assert (late.trouble, late.failed) == (AgentTrouble.TIMEOUT, "timed out after 1.2 s")


def test_a_program_that_is_not_there_is_missing(asked):
    reply = asked("pass", settings={"command": ("no-such-agent",)})
    assert reply.trouble is AgentTrouble.MISSING
    assert "no-such-agent" in reply.failed


def test_it_gets_the_named_keys_and_no_other_secret_and_a_home_of_its_own(asked, monkeypatch, tree):
    monkeypatch.setenv("PARROT_API_KEY", "sk-parrot-123")
    monkeypatch.setenv("EXTRA", "extra-456")
    monkeypatch.setenv("GITHUB_TOKEN", "ghp-secret-789")
    reply = asked(
        "say(type='result', text=json.dumps(dict(os.environ)))",
        settings={
            "keys": ("EXTRA",),
            "env": {"PARROT_URL": "http://model.example", "PARROT_TOKEN": "hidden-000"},
        },
    )
    seen = msgspec.json.decode(reply.text)
    assert "GITHUB_TOKEN" not in seen
    assert seen["PARROT_URL"] == "http://model.example"
    assert seen["HOME"] == str(asked.place.folder / "polly" / "home")
    assert seen["TMPDIR"] == str(asked.place.folder / "polly" / "tmp")
    assert (asked.place.folder / "polly" / "home" / "conf" / "parrot.json").read_text() == "{}"
    assert (seen["PARROT_API_KEY"], seen["EXTRA"], seen["PARROT_TOKEN"]) == ("***", "***", "***")
    for secret in ("sk-parrot-123", "extra-456", "hidden-000"):
        assert secret not in asked.transcript


def test_keys_are_masked_in_what_is_heard_too(asked, monkeypatch):
    monkeypatch.setenv("PARROT_API_KEY", "sk-parrot-123")
    heard = []
    asked(
        "say(say=os.environ['PARROT_API_KEY']); print(os.environ['PARROT_API_KEY'], file=sys.stderr)",
        heard,
    )
    assert heard == ["***"]
    assert "# ***" in asked.transcript


def test_login_files_are_copied_into_its_home_once(asked):
    (asked.user / ".parrot").mkdir()
    (asked.user / ".parrot" / "auth.json").write_text("token")
    program = "p=pathlib.Path.home()/'.parrot/auth.json'; say(type='result', text=p.read_text()); p.write_text('renewed')"
    login = {"login": (".parrot/auth.json", "../outside", ".not-there")}
    assert asked(program, settings=login).text == "token"
    assert asked(program, settings=login).text == "renewed"
    assert (asked.user / ".parrot" / "auth.json").read_text() == "token"


@walled
def test_it_writes_in_its_home_and_in_the_tree_only_if_it_may(asked, tree):
    home = asked.place.make_home("polly")
    names = [
        str(home / "mine"),
        str(tree / "made"),
        str(tree.parent / "beside"),
        str(asked.user / "stolen"),
        "/tmp/own",
    ]
    program = f"""
for name in {names!r}:
    try: pathlib.Path(name).write_text('x')
    except OSError: pass
say(type='result')
"""

    def written():
        return [name for name in names if Path(name).exists()]

    assert not asked(program).failed
    assert written() == names[:1]
    assert not asked(program, writes=True).failed
    assert written() == names[:2]


@walled
def test_it_sees_neither_secrets_nor_punchlist_s_state_but_the_repository_of_its_tree(
    asked, tree, make_repo, tmp_path
):
    (asked.user / ".ssh").mkdir()
    (asked.user / ".ssh" / "id").write_text("key")
    (tmp_path / "state" / "ledger").write_text("secret")
    repo = make_repo("state/workshop")
    repo.commit({"calc.py": "a - b\n"})
    repo.git("worktree", "add", "--quiet", str(tmp_path / "state" / "trees" / "two"))
    program = (
        f"import subprocess; paths = {[str(asked.user / '.ssh' / 'id'), str(tmp_path / 'state' / 'ledger')]!r}; "
        "log = subprocess.run(['git', '-c', 'safe.directory=*', 'log', '--format=%s'], capture_output=True, text=True); "
        "say(type='result', text=str([os.path.exists(p) for p in paths]) + log.stdout)"
    )
    assert (
        asked(program, folder=tmp_path / "state" / "trees" / "two").text
        == "[False, False]a change\n"
    )


def test_what_the_session_had_spent_before_is_taken_off(asked):
    first = asked("say(type='result', session='s', tokens=100, out=5)")
    second = asked("say(type='result', session='s', tokens=250, out=5)", session="s")
    fork = asked("say(type='result', session='f', tokens=260, out=5)", session="s", fork=True)
    assert [reply.usage.input_tokens for reply in (first, second, fork)] == [100, 150, 10]
    assert [reply.usage.output_tokens for reply in (first, second, fork)] == [5, 5, 5]
    asked("say(type='result', session='s')", session="s")
    assert (
        asked("say(type='result', session='s', tokens=300)", session="s").usage.input_tokens == 50
    )
    assert (
        subtract_usage(
            Usage(input_tokens=30), Usage(input_tokens=100), ("input_tokens",)
        ).input_tokens
        == 30
    )


def test_an_agent_that_does_not_tell_the_cost_is_priced_by_the_settings(asked):
    reply = asked(
        "say(type='result', tokens=2_000_000, out=1_000_000)",
        settings={"input_price": 3, "output_price": 15},
    )
    assert reply.usage.dollars == 21


def test_files_it_opened_are_named_relative_to_the_folder(asked, tree):
    (tree / "src").mkdir()
    (tree / "src" / "a.py").touch()
    opened = [
        str(tree / "calc.py"),
        "src/a.py",
        "src/gone.py",
        "/etc/passwd",
        "../ledger",
        str(tree),
        "src/a.py",
        "bad\0name",
    ]
    program = "".join(f"say(open={name!r}); " for name in opened) + "say(type='result', text='ok')"
    assert asked(program).opened == ("calc.py", "src/a.py")


def test_every_try_keeps_its_own_transcript(asked):
    assert asked("pass").transcript.endswith(".1.jsonl")
    assert asked("pass").transcript.endswith(".2.jsonl")


def test_labels_never_share_a_file_name():
    labels = ["a/b", "a-b", "a b", "a.b", "ä", "", "/", "x" * 200, "x" * 201]
    assert len({make_filename(label) for label in labels}) == len(labels)
    assert make_filename("a-b") == "a-b"


def test_an_agent_of_no_known_kind_is_named(tmp_path):
    place = AgentPlace(folder=tmp_path, state=tmp_path, user=tmp_path)
    with pytest.raises(
        SettingsError, match=r"agent\.cluade: there is no kind of agent called 'cluade'"
    ):
        build_agent(AgentSetup("cluade", AgentSettings(), place, FolderArtifacts(tmp_path)))
