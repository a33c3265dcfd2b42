"""The files for CI services: safe as they are written, and their scripts run as shells run them."""

import json
import re
import subprocess

import pytest
import yaml
from service_files import ACTION, ROOT, TEMPLATES, job_environment, run_action
from typed_command import Punchlist

WORKFLOWS = {name: (TEMPLATES / name).read_text() for name in ("github.yml", "github-relay.yml", "gitea.yml")}  # fmt: skip


SOURCE = ("--source", f"git+https://example.org/punchlist.git@{'a' * 40}")


def steps():
    yield from (("action.yml", step) for step in ACTION["runs"]["steps"])
    for name, text in WORKFLOWS.items():
        for job in yaml.safe_load(text)["jobs"].values():
            yield from ((name, step) for step in job["steps"])


def test_other_actions_are_pinned_and_no_script_has_an_expression_in_it():
    for name, step in steps():
        if "uses" in step:
            assert re.search(r"@[0-9a-f]{40}$", step["uses"]), (name, step["uses"])
        assert "${{" not in step.get("run", ""), (name, step["run"])
    assert "eval" not in (ROOT / "action.yml").read_text()


def test_the_job_that_may_write_never_has_the_code_of_a_fork():
    relay = yaml.safe_load(WORKFLOWS["github-relay.yml"])
    [job] = relay["jobs"].values()
    assert relay["permissions"] == {}
    assert {*relay[True]} == {"workflow_run"}
    for step in job["steps"]:
        assert "ref" not in step.get("with", {}), step
    assert "pull_request_target" not in "".join(WORKFLOWS.values())


def test_each_permission_says_what_it_is_for():
    for name, text in WORKFLOWS.items():
        for line in re.findall(r"^ +[a-z-]+: (?:read|write)\b.*", text, re.MULTILINE):
            assert re.search(r"# \w+", line), (name, line)


@pytest.fixture
def here(repo, tmp_path):
    repo.commit({"a.py": "X = 1\n"})
    return Punchlist(tmp_path / "state", repo.root)


def test_init_writes_files_once_and_never_over_changed_ones(here, repo):
    every = ("--github", "--gitlab", "--gitea", "--pre-commit", *SOURCE)
    first = json.loads(here("init", *every, "--json").stdout)
    assert len(first["written"]) == 6
    assert all("VERSION" not in (repo.root / path).read_text() for path in first["written"])
    for path in first["written"]:
        if path != ".gitlab-ci.yml":
            assert f"punchlist @ {SOURCE[1]}" in (repo.root / path).read_text()
    assert "checks: write" in first["needs"]["github"]
    again = json.loads(here("init", *every, "--json").stdout)
    assert (again["written"], again["unchanged"]) == ([], first["written"])

    workflow = repo.root / ".github/workflows/punchlist.yml"
    relay = repo.root / ".github/workflows/punchlist-relay.yml"
    whole, own = workflow.read_text(), workflow.read_text() + "# mine\n"
    workflow.write_text(own)
    relay.unlink()
    refused = here("init", "--github", *SOURCE)
    assert refused.returncode == 2
    assert "differs" in refused.stderr
    assert workflow.read_text() == own
    assert not relay.exists(), "none is written if one cannot be"
    assert here("init", "--github", "--force", *SOURCE).returncode == 0
    assert workflow.read_text() == whole


@pytest.mark.parametrize("source", [(), ("--source", "punchlist"), ("--source", "/a/checkout")])
def test_no_file_is_written_that_would_install_another_program(here, repo, source):
    refused = here("init", "--github", "--pre-commit", *source)
    assert refused.returncode == 2
    assert "--source 'git+https://" in refused.stderr
    assert not (repo.root / ".github").exists()
    assert not (repo.root / ".pre-commit-config.yaml").exists()


def test_files_that_others_write_into_are_kept_also_by_force(here, repo):
    for path in (".gitlab-ci.yml", ".pre-commit-config.yaml"):
        (repo.root / path).write_text("mine: 1\n")
    said = here("init", "--gitlab", "--pre-commit", "--force", *SOURCE)
    assert said.returncode == 0
    assert "add this to it:" in said.stdout
    assert "local: .gitlab/punchlist.yml" in said.stdout
    for path in (".gitlab-ci.yml", ".pre-commit-config.yaml"):
        assert (repo.root / path).read_text() == "mine: 1\n"
    assert here("init", "--force").returncode == 2
    (repo.root / ".gitea").symlink_to(repo.root.parent)
    assert "leads out" in here("init", "--gitea", *SOURCE).stderr


def test_inputs_of_the_action_are_words_and_not_script(repo, tmp_path, isolated):
    repo.commit({"a.py": "X = 1\n"})
    env = job_environment(tmp_path, isolated, RUNNER_TEMP=str(tmp_path / "runner"))
    evil = f"--note=$(touch {tmp_path}/owned); `touch {tmp_path}/owned`\n--note='\"; touch {tmp_path}/owned\n\n--dry-run"
    code, log = run_action({"arguments": evil, "fail": "$(exit 1)"}, repo.root, env)
    assert code == 2, log
    assert "no CI event was found here" in log, "the words came through as words"
    assert not (tmp_path / "owned").exists()
    code, log = run_action({"version": "1 --index-url=http://evil.example"}, repo.root, env)
    assert (code, "not a version" in log) == (2, True)


def test_the_script_of_gitlabs_job_leaves_the_reports_that_the_job_names(repo, tmp_path, isolated):
    base = repo.commit({"a.py": "X = 1\n"})
    head = repo.commit({"a.py": "import os\n\nX = 1\n"})
    job = yaml.safe_load((TEMPLATES / "gitlab.yml").read_text())["punchlist"]
    env = job_environment(
        tmp_path, isolated, GITLAB_CI="true", CI_PIPELINE_SOURCE="merge_request_event", CI_PROJECT_PATH="acme/shop",
        CI_SERVER_URL="https://gitlab.example", CI_COMMIT_SHA=head, CI_MERGE_REQUEST_IID="7", CI_MERGE_REQUEST_PROJECT_ID="1",
        CI_MERGE_REQUEST_SOURCE_PROJECT_ID="2", CI_MERGE_REQUEST_DIFF_BASE_SHA=base,
        CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main", CI_MERGE_REQUEST_SOURCE_BRANCH_NAME="a$(id)b", VENV=str(tmp_path / "venv"),
    )  # fmt: skip
    script = "\n".join(["set -eo pipefail", *job["script"]])
    done = subprocess.run(
        ["bash", "-c", script], cwd=repo.root, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    reports = job["artifacts"]["reports"]
    [issue] = json.loads((repo.root / reports["codequality"]).read_text())
    assert issue["location"]["path"] == "a.py"
    assert json.loads((repo.root / reports["sast"]).read_text())["scan"]["status"] == "success"
