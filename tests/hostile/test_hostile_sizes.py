"""Trees that are too deep, files that are too large, texts that are nested too deeply: each is left out by name, and nothing ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hostile_ground import RUFF, notes

from needs import rarely

BAD = "import os\n\nprint(1)\n"
DEPTHS = [2500, *rarely(300, 1500)]
"""The first is deeper than any path can name."""


@pytest.fixture(autouse=True)
def nothing_deep_is_left(tmp_path) -> Iterator[None]:
    """Pytest's own cleaning recurses."""
    yield
    subprocess.run(["rm", "-rf", str(tmp_path)], check=True)


def commit_deep(repo, depth: int, branch: str = "deep") -> None:
    """A commit with a file so many folders down, by plumbing: no checkout could make it."""
    path = "zz/" + "d/" * depth + "x.py"
    stream = (
        f"commit refs/heads/{branch}\ncommitter A <a@example.org> 1700000999 +0000\ndata 4\ndeep\n"
        f"from refs/heads/main^0\nM 100644 inline {path}\ndata {len(BAD)}\n{BAD}\n"
        f"M 100644 inline near.py\ndata {len(BAD)}\n{BAD}\n"
    )
    repo.git("fast-import", "--quiet", stdin=stream.encode())


def enter(repo, branch: str) -> None:
    """Go to a branch whose files cannot all be checked out."""
    repo.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    repo.git("reset", "--quiet")
    repo.write("near.py", BAD)


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_file_in_the_depths_is_named_and_every_command_ends_as_usual(repo, ground, depth):
    repo.commit({"a.py": "x = 1\n"})
    repo.git("checkout", "--quiet", "-b", "other")
    repo.commit({"b.py": BAD})
    repo.git("checkout", "--quiet", "main")
    commit_deep(repo, depth)
    enter(repo, "deep")
    told = ground("review", "--committed", "--json", *RUFF)
    assert told.code in (0, 1, 3), told.stdout + told.stderr
    assert "1 file over 200 folders deep" in notes(told)
    assert "left out: zz/d/d/" in notes(told)
    ran = ground("run", "--no-checks", "--json", *RUFF)
    assert ran.code in (0, 1, 3), ran.stdout + ran.stderr
    assert [item["path"] for item in ground.items()] == ["near.py"]
    applied = ground("apply")
    assert applied.code in (0, 1, 2, 6), applied.stderr
    assert ground("clean").code == 0
    repo.git("symbolic-ref", "HEAD", "refs/heads/other")
    repo.git("reset", "--quiet", "--hard")
    later = ground("review", "--json", *RUFF)
    assert later.code == 1, later.stdout + later.stderr
    assert ground("clean").code == 0


def test_files_that_were_left_out_are_there_again_when_the_limit_is_raised(repo, ground):
    repo.commit({"a.py": "x = 1\n"})
    commit_deep(repo, 300)
    enter(repo, "deep")
    ground("run", "--all", "--committed", "--no-checks", "--json", *RUFF)
    assert {item["path"] for item in ground.items()} == {"near.py"}
    more = ("--set", "limits.depth=400")
    told = ground("run", "--all", "--committed", "--no-checks", "--json", *RUFF, *more)
    assert told.code in (0, 1, 3), told.stderr
    assert len({item["path"] for item in ground.items()}) == 2


AGENT = """
import json, os, re, sys
prompt = sys.stdin.read()
codes = list(dict.fromkeys(re.findall(r"^### (F\\d+)", prompt, re.M)))
if os.environ.get("PUNCHLIST_WRITES") == "1":
    here = os.getcwd()
    {deed}
    os.chdir(here)
    text = open("a.py").read()
    open("a.py", "w").write(text.replace("eval(x)", "int(x)"))
    said = [{{"id": code, "outcome": "fixed", "explanation": "done", "files": ["a.py"]}} for code in codes]
    print(json.dumps({{"outcomes": said}}))
else:
    print(json.dumps({{"findings": [], "tests": [], "issues": {{}}, "summary": ""}}))
"""
DEEDS = {
    "deep": 'os.mkdir("zz"); os.chdir("zz")\n    for _ in range(3000): os.mkdir("d"); os.chdir("d")',
    "many": 'os.mkdir("zz")\n    for n in range(6000): open(f"zz/{n}", "w").close()',
    "long": 'n = "n" * 250\n    for _ in range(100): os.mkdir(n); os.chdir(n)',
}
SAID = {
    "deep": "too deep|folders deep",
    "many": "files were written; at most 5,000 are read",
    "long": "too deep|folders deep",
}


@pytest.mark.parametrize("deed", ["deep", *rarely("many", "long")])
def test_a_fixer_that_leaves_too_much_is_refused_by_name_and_later_runs_go_on(
    repo, ground, tmp_path, deed
):
    repo.commit({"a.py": "def f(x):\n    return eval(x)\n"})
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT.format(deed=DEEDS[deed]))
    own = tmp_path / "settings.toml"
    command = json.dumps([sys.executable, str(agent)])
    own.write_text(f'[agents]\nuse = ["one"]\n[agent.one]\nkind = "command"\ncommand = {command}\n')
    entry = {"path": "a.py", "line": 2, "title": "eval of a text", "severity": "critical"}
    (tmp_path / "found.json").write_text(json.dumps([entry]))
    told = ground(
        "run", "--all", "--no-checks", "--json", *RUFF, "--rounds", "1",
        "--findings", str(tmp_path / "found.json"), PUNCHLIST_CONFIG=str(own),
    )  # fmt: skip
    assert told.code in (1, 3), told.stdout + told.stderr
    assert any(words in told.stdout for words in SAID[deed].split("|")), told.stdout
    assert ground.sound()["fixed"] == 0
    assert ground("clean").code == 0
    assert ground("review", "--all", "--json", *RUFF).code in (0, 1, 3)


DEEP = {
    "pyproject.toml": '[project]\nname = "x"\n[tool.x]\na = ' + "[" * 5000 + "]" * 5000 + "\n",
    "package.json": '{"scripts": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "tox.toml": ".".join(["a"] * 20_000) + " = 1\n",
    "hatch.toml": "a = " + "{b = " * 5000 + "1" + "}" * 5000 + "\n",
    ".pre-commit-config.yaml": "repos: " + "[" * 20_000,
    ".github/workflows/ci.yml": "a: &a [x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else '*a'] * 9)}]\n" for n in range(12)
    ),
    "ruff.toml": "[lint]\nselect = " + "[" * 5000 + "]" * 5000 + "\n",
    "pyrightconfig.json": "{" + '"a": {' * 50_000 + "}" * 50_001,
    "biome.json": "{,/" + "/" * 60 + "x",
    "tox.ini": "[testenv]\ncommands = " + "{" * 50_000 + "\n",
    "setup.cfg": "[flake8]\n" + " x\n" * 20_000,
    "uv.lock": "[[package]]\na = " + "[" * 9000,
    "requirements.txt": "-r requirements.txt\n" * 5000,
    "deep.py": "x = " + "(" * 5000 + ")" * 5000 + "\n",
    "signs.py": "x = " + "-" * 50_000 + "1\n",
    "chain.py": "x = a" + ".b" * 20_000 + "\n",
    "sum.py": "x = " + "+".join("1" * 20_000) + "\n",
    "null.py": "x = '\0'\n",
    "book.ipynb": '{"cells": ' + "[" * 50_000 + "]" * 50_000 + "}",
}  # fmt: skip


@pytest.mark.parametrize("names", [tuple(DEEP), *rarely(*(((name,),) for name in DEEP))])
def test_files_that_are_nested_too_deeply_end_no_review(repo, ground, names):
    repo.commit({"a.py": "x = 1\n", **{name: DEEP[name] for name in names}})
    repo.git("checkout", "--quiet", "-b", "change")
    repo.commit({"b.py": BAD})
    told = ground("review", "--json")
    assert told.code in (0, 1, 3), told.stdout + told.stderr
    rehearsed = ground("run", "--dry-run", "--json", "--yes")
    assert rehearsed.code in (0, 1, 3), rehearsed.stdout + rehearsed.stderr
    assert "Traceback" not in told.stderr + rehearsed.stderr


def test_settings_that_are_nested_too_deeply_are_refused_by_name(repo, ground, tmp_path):
    repo.commit({"a.py": BAD})
    own = tmp_path / "settings.toml"
    own.write_text("workflow = " + "[" * 5000 + "]" * 5000)
    told = ground("review", PUNCHLIST_CONFIG=str(own))
    assert told.code not in (0, 70)
    assert "settings.toml: not TOML: nested too deeply: over 100 levels" in told.error


def test_a_workflow_that_is_nested_too_deeply_is_refused_by_name(repo, ground, tmp_path):
    repo.commit({"a.py": BAD})
    own = tmp_path / "own.yaml"
    own.write_text("steps: " + "[" * 60_000)
    told = ground("run", "--workflow", str(own))
    assert told.code not in (0, 70)
    assert "own.yaml" in told.error
    assert "nested too deeply" in told.error


@pytest.mark.parametrize("opening", ['{"runs": [', *rarely("[", '[{"title": ')])
def test_a_report_that_is_nested_too_deeply_is_refused_by_name(repo, ground, tmp_path, opening):
    repo.commit({"a.py": BAD})
    file = tmp_path / "report.sarif"
    file.write_text(opening * 50_000)
    told = ground("run", "--all", "--no-checks", "--findings", str(file))
    assert told.code == 2
    assert "report.sarif is nested too deeply: over 100 levels" in told.error


def test_a_report_of_199_megabytes_is_refused_by_its_size_before_it_is_read(repo, ground, tmp_path):
    repo.commit({"a.py": BAD})
    file = tmp_path / "report.sarif"
    file.touch()
    os.truncate(file, 199 << 20)
    told = ground("run", "--all", "--no-checks", "--findings", str(file))
    assert told.code == 2
    assert "report.sarif is 199 MB; at most 64 MB are read" in told.error
    assert "limits.report-size" in told.error


def test_an_export_of_a_ledger_that_is_nested_too_deeply_is_no_ledger(repo, ground, tmp_path):
    repo.commit({"a.py": BAD})
    file = tmp_path / "ledger.jsonl"
    file.write_text("[" * 100_000 + "\n" + '{"event": ' * 50_000 + "\n")
    told = ground("audit", str(file))
    assert told.code not in (0, 70), told.stdout + told.stderr
    assert "Traceback" not in told.stdout + told.stderr


def test_a_source_over_the_limit_is_not_read_and_the_others_are(repo, ground):
    repo.commit({"a.py": BAD, "large.py": "x = 1\n" * 200_000})
    told = ground("run", "--all", "--no-checks", *RUFF, "--set", "limits.file-size=1")
    assert told.code in (0, 1, 3), told.stdout + told.stderr
    assert "large.py: has over 1 MB and is not read (limits.file-size)" in " ".join(
        (told.stdout + told.stderr).split()
    )
    assert ground.sound()["fixed"] == 1


@pytest.mark.parametrize(
    "value", ["files=10", "depth=1", "file-size=0", "nesting=5000", "report-size=0"]
)
def test_a_limit_that_makes_no_sense_is_refused(repo, ground, value):
    repo.commit({"a.py": BAD})
    told = ground("review", "--set", f"limits.{value}")
    assert told.code not in (0, 70)
    assert f"limits.{value.partition('=')[0]}" in told.error


def test_a_repository_does_not_choose_how_much_of_it_is_read(repo, ground):
    repo.commit({"a.py": BAD, ".punchlist.toml": "[limits]\ndepth = 900\n"})
    assert ground("allow").code == 0
    told = ground("review", "--all")
    assert "limits.depth: a repository does not choose how much of it is read" in told.error


def test_a_tree_that_cannot_be_cleaned_is_set_aside_and_stops_nothing(repo, ground):
    """A mount point in the tree, in a mount namespace of our own."""
    repo.commit({"a.py": BAD})
    assert ground("review", "--all", *RUFF).code == 1
    (tree,) = ground.home.glob("repos/*/trees/t1")
    (tree / "held").mkdir()
    script = f'mount -t tmpfs none "{tree}/held" && exec "$@"'
    before = (shutil.which("unshare") or "unshare", "-rm", "sh", "-c", script, "sh")
    if subprocess.run([*before, "true"], check=False, capture_output=True).returncode:
        pytest.skip("NOT TESTED HERE: no mount namespaces for this user")
    told = ground.started("review", "--all", *RUFF, before=before)
    assert told.code == 1, told.stdout + told.stderr
    said = " ".join((told.stdout + told.stderr).split())
    assert said.count("could not be deleted, and was set aside") == 1, said
    (aside,) = ground.home.glob("repos/*/set-aside/*")
    cleaned = ground("clean")
    assert cleaned.code == 0
    assert not aside.exists()
    assert ground("review", "--all", *RUFF).code == 1


def test_a_stopped_command_ends_though_a_thread_goes_on():
    """Python waits for its threads; a command that was stopped does not."""
    program = (
        "import asyncio, os, signal, sys, threading\n"
        "from punchlist.cli import session\n"
        "busy = threading.Event()\n"
        "async def work():\n"
        "    with session.handle_signals(lambda text: None):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        await asyncio.to_thread(busy.wait)\n"
        "asyncio.run(work())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, timeout=120
    )
    assert ended.returncode == 128 + signal.SIGTERM
    assert b"stopped at once" in ended.stderr


def test_a_stopped_command_ends_though_its_loop_is_busy():
    program = (
        "import asyncio, os, signal\n"
        "from punchlist.cli import session\n"
        "async def work():\n"
        "    with session.handle_signals(lambda text: None):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        while True: pass\n"
        "asyncio.run(work())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, timeout=120
    )
    assert ended.returncode == 128 + signal.SIGTERM
