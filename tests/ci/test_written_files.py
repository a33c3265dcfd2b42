"""The files that `init` writes, in the jobs that they are written for: a fresh clone, an empty home, and punchlist from an index."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from loopback_index import fill_index, serve_index
from typed_command import Punchlist

import fresh_clone
from punchlist._version import __version__

pytestmark = pytest.mark.soak
SOURCE = f"punchlist=={__version__}"
BAD = "import os\n\nX = 1\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    fill_index(folder)
    fresh_clone.write_registry(folder / "simple/text-folding")
    with serve_index(folder) as url:
        yield url


@pytest.fixture
def clone(repo, tmp_path):
    """A fresh clone of a branch with a finding and with every file that `init` writes; its base and head."""
    repo.commit(fresh_clone.FILES)
    own = Punchlist(tmp_path / "own", repo.root)
    services = ("--github", "--gitlab", "--gitea", "--pre-commit")
    assert own("init", *services, "--source", SOURCE).returncode == 0
    base = repo.commit(message="Run punchlist in CI")
    repo.git("switch", "--quiet", "--create", "topic")
    head = repo.commit({"lib/more.py": BAD})
    folder = tmp_path / "clone"
    repo.git("clone", "--quiet", "--no-hardlinks", str(repo.root), str(folder))
    return folder, base, head


def make_environment(tmp_path, index, **own):
    """The variables of a job: nothing of this machine but PATH, and where packages are."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    runner = tmp_path / "runner"
    runner.mkdir(exist_ok=True)
    given = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "CI": "true"}
    return {**given, "PIP_INDEX_URL": index, "RUNNER_TEMP": str(runner), **own}


def run_shell(script: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    line = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(line, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def run_steps(workflow: Path, cwd: Path, env: dict[str, str]) -> list[tuple[str, str, int]]:
    """Run the shell steps of a workflow's job as its runner does; name, output and exit code of each.

    The steps of other actions are the runner's own; `tests/ci/test_real_tools.py` looks at them.
    """
    [job] = yaml.safe_load(workflow.read_text())["jobs"].values()
    told = []
    for step in job["steps"]:
        if "run" not in step:
            continue
        own = {
            name: re.sub(r"\$\{\{.*?\}\}", "", str(value))
            for name, value in step.get("env", {}).items()
        }
        done = run_shell(step["run"], cwd, env | own)
        told.append((step["name"], done.stdout + done.stderr, done.returncode))
        if done.returncode and not step.get("continue-on-error"):
            break
    return told


def payload(base: str, head: str) -> dict[str, object]:
    shop = {"full_name": "acme/shop"}
    fork = {"full_name": "someone/shop", "owner": {"login": "someone"}}
    ends = {
        "head": {"sha": head, "ref": "topic", "repo": fork},
        "base": {"sha": base, "ref": "main", "repo": shop},
    }
    return {"action": "opened", "pull_request": {"number": 7, **ends}}


@pytest.mark.parametrize("service", ["github", "gitea"])
def test_the_steps_of_a_workflow_install_set_up_and_review(service, clone, index, tmp_path):
    folder, base, head = clone
    event = tmp_path / "event.json"
    event.write_text(json.dumps(payload(base, head)))
    env = make_environment(
        tmp_path, index,
        GITHUB_ACTIONS="true", GITHUB_EVENT_NAME="pull_request", GITHUB_EVENT_PATH=str(event),
        GITHUB_REPOSITORY="acme/shop", GITHUB_SERVER_URL=f"https://{service}.example",
        GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"), GITHUB_OUTPUT=str(tmp_path / "output"),
        **({"GITEA_ACTIONS": "true"} if service == "gitea" else {}),
    )  # fmt: skip
    install, set_up, review = run_steps(folder / f".{service}/workflows/punchlist.yml", folder, env)
    assert install[2] == 0, install
    assert set_up[2] == 0, set_up
    assert "made ~/.local/state/punchlist/" in set_up[1]
    assert review[2] == 1, review
    assert "lib/more.py:1" in review[1] + (tmp_path / "summary.md").read_text()
    sarif = json.loads((tmp_path / "runner/punchlist/punchlist.sarif").read_text())
    assert [each["ruleId"] for each in sarif["runs"][0]["results"]] == ["F401"]


def test_the_script_of_gitlab_installs_sets_up_and_reviews(clone, index, tmp_path):
    folder, base, head = clone
    root = yaml.safe_load((folder / ".gitlab-ci.yml").read_text())
    job = yaml.safe_load((folder / root["include"][0]["local"]).read_text())["punchlist"]
    env = make_environment(
        tmp_path, index,
        GITLAB_CI="true", CI_PIPELINE_SOURCE="merge_request_event", CI_PROJECT_PATH="acme/shop",
        CI_SERVER_URL="https://gitlab.example", CI_COMMIT_SHA=head, CI_MERGE_REQUEST_IID="7",
        CI_MERGE_REQUEST_PROJECT_ID="1", CI_MERGE_REQUEST_SOURCE_PROJECT_ID="2",
        CI_MERGE_REQUEST_DIFF_BASE_SHA=base, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main",
        CI_MERGE_REQUEST_SOURCE_BRANCH_NAME="topic", **job["variables"],
    )  # fmt: skip
    env |= {"PIP_CACHE_DIR": str(tmp_path / "cache"), "VENV": str(tmp_path / "venv")}
    done = run_shell("\n".join(job["script"]), folder, env)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "made ~/.local/state/punchlist/" in done.stdout
    [issue] = json.loads((folder / job["artifacts"]["reports"]["codequality"]).read_text())
    assert issue["location"]["path"] == "lib/more.py"


def test_the_hook_of_pre_commit_reviews_what_is_staged(clone, index, tmp_path):
    """pre-commit makes an environment with the dependencies of the hook and starts its entry there."""
    folder, *_ = clone
    [hook] = yaml.safe_load((folder / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    env = make_environment(tmp_path, index)
    venv = tmp_path / "hook"
    needed = " ".join(f'"{each}"' for each in hook["additional_dependencies"])
    made = run_shell(f'python -m venv "{venv}" && "{venv}/bin/pip" install {needed}', folder, env)
    assert made.returncode == 0, made.stderr
    env["PATH"] = f"{venv}/bin:{env['PATH']}"
    held, passed = (
        run_shell(f"echo '{line}' > lib/staged.py && git add lib && {hook['entry']}", folder, env)
        for line in ("import os", "X = 1")
    )
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert held.returncode == 1, held.stdout + held.stderr
    assert "lib/staged.py:1" in held.stdout
