"""A legacy repository is adopted in one command; afterwards only what is new is reported, to all."""

import json
import shutil

import pytest

from punchlist.app.gate.baseline import read_baseline

OLD = "import os\n\n\ndef run(value):\n    unused = 1\n    if value == None:\n        return eval(value)\n    try:\n        return value.go()\n    except:\n        return 1\n"
"""F401, F841, E711, E722 and S307."""


@pytest.fixture
def legacy(repo):
    repo.commit({f"pkg/old_{number}.py": OLD for number in range(4)})
    return repo


@pytest.fixture
def type_in(make_punchlist, legacy):
    punchlist = make_punchlist(legacy.root)
    punchlist.analyzers = ""
    punchlist.env["PUNCHLIST_ANALYZERS__ENABLED"] = "ruff"
    return punchlist


@pytest.fixture
def adopted(type_in, legacy):
    made = type_in("baseline")
    assert made.returncode == 0, made.stderr
    assert "20 findings of 4 files in .punchlist/baseline" in made.stdout
    legacy.commit(message="baseline")
    legacy.git("checkout", "--quiet", "-b", "feature")
    return type_in


def report(punchlist, *options):
    ran = punchlist("review", "--json", *options)
    said = json.loads(ran.stdout)["report"]
    new = [
        (each["path"], each["findings"][0]["rule"]) for each in said["items"] if each["in_scope"]
    ]
    return ran.returncode, sorted(new), said["counts"]["left_out"]


def test_after_one_command_only_the_new_defect_is_reported_also_to_others(
    adopted, legacy, make_punchlist, tmp_path
):
    assert report(adopted, "--all", "--check") == (0, [], 20)
    again = OLD.replace("import os\n", "import os\nimport sys\n").replace("run", "walk")
    legacy.commit({"pkg/old_0.py": again, "README": "new"})
    expected = [("pkg/old_0.py", "F401")]
    assert report(adopted, "--check") == (1, expected, 5)
    assert report(adopted, "--all", "--check") == (1, expected, 20)
    results = json.loads(adopted("report", "--format", "sarif").stdout)["runs"][0]["results"]
    assert sum(bool(each.get("suppressions")) for each in results) == 20

    clone = tmp_path / "clone"
    legacy.git("checkout", "--quiet", "main")
    legacy.git("clone", "--quiet", str(legacy.root), str(clone))
    legacy.git("checkout", "--quiet", "feature", cwd=clone)
    other = make_punchlist(clone)
    other.analyzers = ""
    other.env["PUNCHLIST_ANALYZERS__ENABLED"] = "ruff"
    other.env |= {"HOME": str(tmp_path / "other"), "PUNCHLIST_HOME": str(tmp_path / "theirs")}
    assert report(other, "--check") == (1, expected, 5)
    said = " ".join(other("review", "--all").stdout.split())
    assert "20 findings left out: 20 by the baseline: punchlist show" in said
    assert other("show", "last", "--left-out").stdout.count("left out by the baseline") == 20


def test_a_second_copy_and_another_rule_on_a_known_line_are_new(adopted, legacy):
    twice = OLD.replace(
        "    try:\n", "    try:\n        value.one()\n    except:\n        pass\n    try:\n"
    )
    other = OLD.replace("eval(value)", "exec(value)")
    legacy.commit({"pkg/old_1.py": twice, "pkg/old_2.py": other})
    code, new, _ = report(adopted, "--check")
    assert code == 1
    assert ("pkg/old_1.py", "E722") in new
    assert {rule for path, rule in new if path == "pkg/old_2.py"} == {"S102"}


def test_a_change_cannot_add_to_the_baseline_that_judges_it(adopted, legacy):
    legacy.commit({"pkg/more.py": "import json\n"})
    assert adopted("baseline").returncode == 0
    legacy.commit(message="baseline of my own defect")
    ran = adopted("review", "--check", "--all")
    said = " ".join(ran.stdout.split())
    assert ran.returncode == 1
    assert "pkg/more.py:1:8: F401" in said
    assert "this change alters which findings count, and that is not used for it" in said


def test_moved_and_renamed_files_keep_their_findings(adopted, legacy):
    legacy.git("mv", "pkg/old_3.py", "pkg/renamed.py")
    legacy.commit({"pkg/renamed.py": "# A new first line.\n" + OLD})
    assert report(adopted, "--check") == (0, [], 5)
    assert report(adopted, "--all", "--check") == (0, [], 20)


def test_lines_that_are_stale_are_said_listed_and_removed(adopted, legacy):
    legacy.commit({"pkg/old_0.py": OLD.replace("import os\n", "")})
    assert "1 finding of the baseline is gone" in " ".join(adopted("review").stdout.split())
    listed = adopted("baseline", "--stale")
    assert "pkg/old_0.py: ruff:F401 os" in listed.stdout
    legacy.commit({"pkg/new.py": "import json\n"})
    pruned = adopted("baseline", "--prune")
    assert "19 findings of 4 files" in pruned.stdout
    assert "1 finding not in it" in pruned.stdout
    assert legacy.git("status", "--porcelain").splitlines() == [
        line for line in legacy.git("status", "--porcelain").splitlines() if "old_0.py" in line
    ]
    assert "No line is stale." in adopted("baseline", "--stale").stdout


def test_two_branches_add_to_the_baseline_and_merge_without_a_conflict(adopted, legacy):
    for name in ("left", "right"):
        legacy.git("checkout", "--quiet", "-b", name, "main")
        legacy.commit({"pkg/old_0.py": f"import {'json' if name == 'left' else 'sys'}\n" + OLD})
        legacy.git("checkout", "--quiet", name)
        assert adopted("baseline").returncode == 0
        legacy.git("checkout", "--quiet", "main", "--", "pkg")
        legacy.commit(message=name)
    legacy.git("merge", "--quiet", "--no-edit", "left")
    legacy.git("checkout", "--quiet", "main")
    legacy.git("merge", "--quiet", "--ff-only", "right")
    rules = [known.rule for known in read_baseline(legacy.root)]
    assert rules.count("ruff:F401") == 6


def test_a_dismissal_is_shared_in_a_file_and_taken_back(adopted, legacy, make_punchlist, tmp_path):
    legacy.git("checkout", "--quiet", "main")
    legacy.commit({"pkg/more.py": "import json\nimport sys\n"})
    assert report(adopted, "--all")[0] == 1
    done = adopted(
        "dismiss", "last", "--rule", "F401", "--path", "pkg/more.py", "--why", "kept", "--shared"
    )
    assert "2 files in .punchlist/dismissals" in done.stdout
    legacy.commit(message="dismissed")
    clone = tmp_path / "clone"
    legacy.git("clone", "--quiet", str(legacy.root), str(clone))
    other = make_punchlist(clone)
    other.analyzers = ""
    other.env["PUNCHLIST_ANALYZERS__ENABLED"] = "ruff"
    other.env |= {"PUNCHLIST_HOME": str(tmp_path / "theirs")}
    assert report(other, "--all", "--check")[0] == 0
    assert other("dismissals").stdout.count("shared") == 2
    legacy.git("rm", "--quiet", "pkg/more.py", cwd=clone)
    legacy.git("commit", "--quiet", "--message", "gone", cwd=clone)
    assert other("baseline", "--stale").stdout.count(".punchlist/dismissals/") == 2
    shutil.rmtree(legacy.root / ".punchlist/dismissals")
    legacy.commit(message="taken back")
    assert adopted("dismissals").stdout.count("yours") == 2
    assert "2 files written" in adopted("dismissals", "--share").stdout
    assert legacy.git("status", "--porcelain") == "?? .punchlist/dismissals/"
