"""An agent that is logged in by files of the home: asked about once, remembered, never printed."""

import json
import stat

import pytest
from test_cli_terminal import Screen

SECRET = "sk-dummy-login-of-a-test"
CLAUDE = """\
#!/bin/sh
[ "$1" = --version ] && echo 1.2.3 && exit 0
if [ -f "$HOME/.claude/.credentials.json" ]; then echo "login: there"; else echo "login: none"; fi
exit 1
"""


@pytest.fixture
def user(repo, make_punchlist, tmp_path):
    """A user with a program `claude` that is logged in by a file, and no key."""
    repo.commit({"a.py": "A = 1\n"})
    repo.commit({"a.py": "A = 2\n"})
    punchlist = make_punchlist(repo.root)
    program = tmp_path / "tools/bin/claude"
    program.parent.mkdir(parents=True)
    program.write_text(CLAUDE)
    program.chmod(0o755)
    home = tmp_path / "home"
    login = home / ".claude/.credentials.json"
    login.parent.mkdir(parents=True)
    login.write_text(json.dumps({"token": SECRET}))
    keys = ("ANTHROPIC_", "CLAUDE_CODE")
    kept = {name: punchlist.env[name] for name in punchlist.env if not name.startswith(keys)}
    path = f"{program.parent}:{punchlist.env['PATH']}"
    punchlist.env = {**kept, "HOME": str(home), "PATH": path}
    return punchlist


REVIEW = ("review", "--all", "--agent", "claude", "--set", "agents.retries=0")


def logins_seen(punchlist) -> list[bool]:
    """Whether the agent found its login, by call."""
    calls = sorted(
        punchlist.home.glob("runs/*/calls/*.jsonl"), key=lambda each: each.stat().st_mtime
    )
    return ["login: there" in each.read_text() for each in calls]


def test_where_the_user_cannot_be_asked_the_login_is_not_used_and_it_is_said_how_to_allow_it(user):
    ran = user(*REVIEW)
    assert logins_seen(user) == [False]
    assert "logged in by ~/.claude/.credentials.json" in " ".join(ran.stderr.split())
    assert "--set agents.logins=true" in ran.stderr
    assert "agent claude was not given your login" in ran.stdout
    assert SECRET not in ran.stdout + ran.stderr


def test_a_setting_allows_the_login_and_it_is_never_printed(user):
    ran = user(*REVIEW, "--set", "agents.logins=true")
    assert logins_seen(user) == [True]
    assert SECRET not in ran.stdout + ran.stderr + user("status", "--json").stdout
    assert "hint: --set agents.logins" not in ran.stderr
    assert not list(user.home.rglob("*.credentials.json")), "copies are removed"


@pytest.mark.parametrize(("answer", "used"), [("y", True), ("n", False)])
def test_the_question_is_asked_once_and_the_answer_is_remembered(user, answer, used):
    screen = Screen(user, *REVIEW)
    asked = screen.until("[y]es, [n]o")
    assert SECRET not in asked
    screen.type(f"{answer}\n")
    screen.end()
    again = Screen(user, *REVIEW)
    again.end()
    assert "[y]es, [n]o" not in again.text
    assert user(*REVIEW).returncode == 3
    assert logins_seen(user) == [used] * 3
    answers = user.home / "logins.json"
    assert json.loads(answers.read_text()) == {"claude": used}
    assert stat.S_IMODE(answers.stat().st_mode) & 0o077 == 0


def test_an_agent_with_a_key_is_not_given_the_login_as_well(user):
    user.env["ANTHROPIC_API_KEY"] = "sk-dummy-key-of-a-test"
    ran = user(*REVIEW, "--set", "agents.logins=true")
    assert logins_seen(user) == [False]
    assert "logged in by" not in ran.stderr


def test_a_repository_does_not_allow_logins(user, repo):
    repo.commit({".punchlist.toml": "[agents]\nlogins = true\n"})
    user("allow")
    ran = user(*REVIEW)
    assert ran.returncode == 6
    assert "agents.logins" in ran.stderr
    assert logins_seen(user) == []


def test_a_program_that_is_missing_stops_before_any_question_and_files_nothing(user, tmp_path):
    (tmp_path / "tools/bin/claude").unlink()
    screen = Screen(user, "run", "--all", "--agent", "claude")
    assert screen.end() == 6
    assert "claude is not installed" in screen.text
    assert "npm install -g @anthropic-ai/claude-code" in screen.text
    assert "[y]es" not in screen.text
    assert "no run is recorded" in user("status").stderr
