"""`punchlist ci`, typed as in jobs: real git, GitHub on loopback."""

import json
import re

import pytest
from forge_kinds import KINDS
from forge_standin import TOKEN
from forge_state import Fault
from test_cli_pr import Shop


@pytest.fixture(scope="module")
def standin():
    with KINDS["github"].server() as server:
        yield server


@pytest.fixture
def shop(repo, tmp_path, standin):
    made = Shop(repo, tmp_path, KINDS["github"], standin)
    made.begin(
        {"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n", "::error::b.py": "import re\n"}
    )
    yield made
    assert standin.state.problems == []


@pytest.fixture
def ci(shop, make_punchlist, standin, tmp_path):
    """Types `punchlist ci` in the job of an event."""
    punchlist = make_punchlist(shop.repo.root)
    given = ["--set=analyzers.enabled=ruff", "--set=analyzers.select=F", "--set=pr.pause=0"]
    given += [f"--set=track.api={standin.api}", f"--reports={tmp_path / 'reports'}"]

    def typed(event, payload, *more, **env):
        path = tmp_path / "event.json"
        path.write_text(json.dumps(payload))
        job = {
            "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(path),
            "GITHUB_REPOSITORY": "acme/shop", "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "GITHUB_OUTPUT": str(tmp_path / "output"), **env,
        }  # fmt: skip
        said = punchlist("ci", *given, *more, **job)
        assert TOKEN not in said.stdout + said.stderr
        return said

    return typed


def pull(shop, theirs="acme/shop"):
    repository = {"full_name": theirs, "owner": {"login": theirs.split("/")[0]}}
    head = {"sha": shop.state.head, "ref": "topic", "repo": repository}
    base = {"sha": shop.state.base, "ref": "main", "repo": {"full_name": "acme/shop"}}
    return {"action": "opened", "pull_request": {"number": 7, "head": head, "base": base}}


def read_outputs(tmp_path):
    text = (tmp_path / "output").read_text()
    return {name: value for name, _, value in re.findall(r"(\w+)<<(\S+)\n(.*)\n\2\n", text)}


def obeyed(log):
    """The lines that GitHub's runner takes for commands."""
    held, found = "", []
    for line in log.splitlines():
        command = re.match(r"\s*::([^: ]+)[^:]*::(.*)", line)
        if held:
            held = "" if command and command[1] == held else held
        elif command and command[1] == "stop-commands":
            held = command[2]
        elif command:
            found.append(line)
    return found


def test_a_fork_without_secrets_is_reported_and_another_job_shows_it(shop, ci, tmp_path):
    shop.state.fork = True
    said = ci("pull_request", pull(shop, "someone/shop"))
    assert said.returncode == 1, said.stderr
    assert shop.state.writes == []
    commands = obeyed(said.stderr)
    assert [each.split(" ")[0] for each in commands] == ["::notice", "::notice"], commands
    assert "file=a.py,line=1" in commands[1]
    assert "F401" in (tmp_path / "summary.md").read_text()
    outputs = read_outputs(tmp_path)
    assert outputs["mode"] == "report"
    assert json.loads((tmp_path / "reports" / "punchlist.sarif").read_text())["runs"]
    assert outputs["result"] == str(tmp_path / "reports" / "punchlist-result.json")

    repository = {"full_name": "someone/shop", "owner": {"login": "someone"}}
    run = {"head_sha": shop.state.head, "head_branch": "topic", "event": "pull_request", "head_repository": repository}  # fmt: skip
    ended = {"workflow_run": run}
    relay = f"--relay={outputs['result']}"
    for _ in range(2):
        shown = ci("workflow_run", ended, relay, "--json", GITHUB_TOKEN=TOKEN)
        assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["updates"] == [], "nothing twice"
    [comment] = shop.state.comments
    assert "A job without secrets reported this" in comment["body"]
    [check] = shop.state.check_runs
    assert (check["name"], check["conclusion"]) == ("punchlist (reported)", "neutral")
    assert {each["path"] for each in check["annotations"]} == {"a.py", "::error::b.py"}

    written = len(shop.state.writes)
    late = ci("workflow_run", {"workflow_run": run | {"head_sha": shop.state.base}}, relay, GITHUB_TOKEN=TOKEN)  # fmt: skip
    assert late.returncode == 0
    assert "another commit" in late.stderr
    (tmp_path / "link").symlink_to("/etc/passwd")
    hostile = ci("workflow_run", ended, f"--relay={tmp_path / 'link'}", GITHUB_TOKEN=TOKEN)
    assert hostile.returncode == 2
    assert len(shop.state.writes) == written


def test_the_pull_request_of_a_member_is_answered(shop, ci, tmp_path):
    said = ci("pull_request", pull(shop), "--no-checks", GITHUB_TOKEN=TOKEN)
    assert said.returncode == 8, said.stderr
    assert "punchlist:summary" in shop.state.comments[0]["body"]
    assert len(shop.state.own_threads()) == 2
    assert obeyed(said.stderr) == []
    assert read_outputs(tmp_path)["mode"] == "answer"


def test_a_token_that_may_only_read_leaves_the_result_in_the_job(shop, ci):
    shop.state.faults = [Fault(403, message="Resource not accessible by integration")] * 50
    said = ci("pull_request", pull(shop), "--no-checks", GITHUB_TOKEN=TOKEN)
    assert said.returncode == 8, said.stderr
    assert "the token may not write here" in said.stderr


def test_a_merge_group_is_a_gate(shop, ci, tmp_path):
    group = {"head_sha": shop.state.head, "base_sha": shop.state.base, "base_ref": "refs/heads/main",
             "head_ref": "refs/heads/gh-readonly-queue/main/pr-7"}  # fmt: skip
    said = ci("merge_group", {"merge_group": group}, "--json", GITHUB_TOKEN=TOKEN)
    assert said.returncode == 1, said.stderr
    document = json.loads(said.stdout)
    assert (document["plan"]["mode"], document["exit"]) == ("gate", 1)
    assert shop.state.writes == []


def test_a_dry_run_says_what_would_be_done_and_does_nothing(shop, ci, tmp_path):
    said = ci("pull_request", pull(shop, "someone/shop"), "--dry-run")
    assert said.returncode == 0
    assert said.stdout.startswith(
        "github, event pull_request of https://github.example/acme/shop/pull/7: report, because"
    )
    assert "neither agents nor checks run" in said.stdout
    plan = json.loads(ci("push", {"before": "0" * 40, "after": shop.state.head, "ref": "refs/heads/x"},
                         "--dry-run", "--json").stdout)["plan"]  # fmt: skip
    assert plan["mode"] == "gate"
    assert not (tmp_path / "reports").exists()
    assert not (tmp_path / "output").exists()
    broken = ci("pull_request", {"pull_request": 7}, "--json")
    assert broken.returncode == 2
    assert "no payload of the event pull_request" in json.loads(broken.stdout)["error"]


def test_reports_are_not_written_through_a_link_of_the_code(shop, ci, tmp_path):
    (shop.repo.root / "out").symlink_to(tmp_path)
    said = ci("pull_request", pull(shop, "someone/shop"), "--reports=out/deep")
    assert said.returncode == 2
    assert "it is a link" in said.stderr
    assert not (tmp_path / "deep").exists()


def test_the_merge_request_of_a_member_is_answered_on_gitlab(repo, tmp_path, make_punchlist):
    kind = KINDS["gitlab"]
    with kind.server() as standin:
        shop = Shop(repo, tmp_path, kind, standin)
        shop.begin({"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n"})
        job = {
            "GITLAB_CI": "true", "CI_PIPELINE_SOURCE": "merge_request_event", "CI_PROJECT_PATH": kind.repository,
            "CI_SERVER_URL": "https://gitlab.example", "CI_API_V4_URL": standin.api, "CI_COMMIT_SHA": shop.state.head,
            "CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_PROJECT_ID": "1", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "1",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": shop.state.base, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic", "GITLAB_TOKEN": TOKEN,
        }  # fmt: skip
        words = ["--no-checks", "--set=analyzers.enabled=ruff", "--set=analyzers.select=F", "--set=pr.pause=0"]  # fmt: skip
        said = make_punchlist(repo.root)("ci", f"--reports={tmp_path / 'out'}", *words, **job)
        assert said.returncode == 8, said.stderr
        assert "punchlist:summary" in shop.state.comments[0]["body"]
        assert (tmp_path / "out" / "gl-sast-report.json").exists()
        assert "::" not in said.stderr, "commands are for Actions"
        assert standin.state.problems == []


def test_jobs_keep_the_pull_request_with_fixes_and_do_not_review_it(shop, ci, tmp_path):
    stacked = ("--set=pr.fixes=stack", "--report-only", "--no-checks")
    said = ci("pull_request", pull(shop), *stacked, GITHUB_TOKEN=TOKEN)
    assert said.returncode == 0, said.stderr
    [made] = shop.state.pulls
    assert (made["head"], made["base"]) == ("punchlist/pr-7", "topic")
    own = pull(shop)
    own["pull_request"] |= {
        "number": 8,
        "head": own["pull_request"]["head"] | {"ref": made["head"]},
    }
    said = ci("pull_request", own, *stacked, GITHUB_TOKEN=TOKEN)
    assert said.returncode == 0, said.stderr
    assert "it holds punchlist's own fixes for #7" in said.stderr
    assert shop.state.concluded()[-1] == (shop.read_branch(made["head"]), "neutral")
    shop.state.state = "closed"
    said = ci("pull_request", pull(shop) | {"action": "closed"}, *stacked, GITHUB_TOKEN=TOKEN)
    assert said.returncode == 0, said.stderr
    assert (made["state"], shop.read_branch(made["head"])) == ("closed", "")
