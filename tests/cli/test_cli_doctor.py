"""What the doctor says: what works, what does not, and what to type, wherever it is asked."""

import subprocess
import sys

import pytest


@pytest.fixture
def project(repo, make_punchlist):
    """A project with tests, a package that is not installed, and a language no analyzer reads."""
    repo.commit(
        {
            "a.py": "A = 1\n",
            "main.go": "package main\n",
            "requirements.txt": "no-such-package-anywhere\n",
            "tests/test_a.py": "import pytest\n\n\ndef test_a():\n    assert True\n",
        }
    )
    return make_punchlist(repo.root)


def said(ran) -> str:
    return " ".join(ran.stdout.split())


def probe(punchlist, name: str) -> dict:
    return next(each for each in punchlist.json("doctor") if each["name"] == name)


def test_the_python_that_runs_the_tests_is_named_with_the_reason_and_what_it_lacks(project):
    project.env.pop("VIRTUAL_ENV", None)
    told = said(project("doctor"))
    assert ", because the project has no environment: no .venv, uv, poetry" in told
    assert "it lacks no-such-package-anywhere. To do: punchlist setup" in told
    assert probe(project, "check pytest")["note"].endswith("(detected by tests/test_a.py)")


def test_an_environment_of_the_project_is_named_as_the_reason(project, repo):
    programs = repo.root / ".venv/bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (repo.root / ".gitignore").write_text(".venv\n")
    found = probe(project, "Python of pytest")
    assert f"{programs}/python (.venv in your checkout)" in found["note"]


def test_what_is_missing_comes_with_what_to_type(project):
    told = said(project("doctor"))
    assert "Go: 1 file that no analyzer here reads. To do: an agent (--agent NAME)" in told
    assert "To do: punchlist allow" in told
    project("allow")
    assert "punchlist allow" not in said(project("doctor"))


def test_an_agent_that_is_used_and_not_installed_comes_with_the_line_that_installs_it(project):
    ran = project("doctor", "--set", "agents.use=codex")
    assert ran.returncode == 6
    assert "To do: npm install -g @openai/codex" in said(ran)


@pytest.mark.parametrize("key", ["", "sk-dummy-key-of-a-test"])
def test_by_what_an_agent_is_logged_in_is_said_and_the_key_is_not(project, tmp_path, key):
    program = tmp_path / "bin/claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 1.2.3\n")
    program.chmod(0o755)
    project.env["PATH"] = f"{program.parent}:{project.env['PATH']}"
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        project.env.pop(name, None)
    project.env |= {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": key}
    ran = project("doctor")
    none = "no key and no login were found. To do: start `claude` and log in, or set ANTHROPIC_API"
    assert ("has a key (ANTHROPIC_API_KEY)" if key else none) in said(ran)
    assert not key or key not in ran.stdout


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (["git", "init", "--quiet"], "has no commits yet. To do: git add"),
        (["true"], "To do: go to"),
    ],
)
def test_it_works_in_a_repository_without_commits_and_outside_of_one(
    make_punchlist, tmp_path, made, reason
):
    folder = tmp_path / "folder"
    folder.mkdir()
    punchlist = make_punchlist(folder)
    subprocess.run(made, cwd=folder, env=punchlist.env, check=True)
    ran = punchlist("doctor")
    assert ran.returncode == 0, ran.stderr
    assert reason in said(ran)
    assert "reviews by ruff" in said(ran)
    assert punchlist("doctor", "--settings").returncode == 0
    assert "No run is recorded" in punchlist("list").stdout
    for look in ("show", "report", "audit", "replay", "status"):
        assert "no run is recorded" in punchlist(look).stderr, look


def test_without_git_the_rest_is_looked_at_all_the_same(project, tmp_path):
    ran = project("doctor", PATH=str(tmp_path))
    assert ran.returncode == 6
    assert "git is not installed" in said(ran)
    assert "Works" in ran.stdout
