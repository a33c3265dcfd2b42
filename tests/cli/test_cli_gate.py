"""Which findings count, as typed: options, settings by folder, exit codes; nothing is lost."""

import json

import pytest

FLAWED = "import os\n\n\ndef run(value):\n    if value == None:\n        return eval(value)\n    return 1\n"
"""F401, E711 and S307, which is bandit's B307, too."""


@pytest.fixture
def flawed(repo):
    repo.commit({"app.py": FLAWED, "lib/old.py": FLAWED, "lib/deep/new.py": FLAWED})
    return repo


@pytest.fixture
def type_in(make_punchlist, flawed):
    punchlist = make_punchlist(flawed.root)
    punchlist.analyzers = "ruff"
    return punchlist


def review(punchlist, *options):
    """Return the exit code, the rules and paths that count, and what is left out by what."""
    ran = punchlist("review", "--json", *options)
    report = json.loads(ran.stdout)["report"]
    items = [(item["path"], item["findings"][0]["rule"], item) for item in report["items"]]
    counted = sorted((path, rule) for path, rule, item in items if item["in_scope"])
    left_out = {(path, rule): item["left_out"] for path, rule, item in items if item["left_out"]}
    assert len(counted) + len(left_out) + report["counts"]["outside"] == len(items)
    return ran.returncode, counted, left_out


def test_rules_and_paths_are_chosen_and_what_is_left_out_is_said(type_in):
    ran = type_in("review", "--all", "--ignore", "F4*,E711", "--exclude", "lib/deep/")
    assert ran.returncode == 1
    assert "7 findings left out: 4 by --ignore, 3 by --exclude" in " ".join(ran.stdout.split())
    listed = type_in("show", "last", "--left-out")
    assert listed.stdout.count("left out") == 7
    assert "7 more items are left out" in type_in("show", "last").stdout


def test_only_selected_rules_count_of_any_or_of_one_tool(type_in):
    type_in.analyzers = "ruff,bandit"
    code, counted, left_out = review(type_in, "--all", "--select", "bandit:*", "app.py")
    assert (code, counted) == (1, [("app.py", "B307")])
    assert set(left_out.values()) == {"--select"}


def test_a_rule_that_does_not_exist_is_said(type_in):
    said = type_in("review", "--all", "--select", "F4O1,B307,ruff:*", "--check").stdout
    assert "select names F4O1, and ruff has no such rule" in " ".join(said.split())
    assert "B307, and" not in said


def test_with_nothing_left_that_counts_the_exit_code_is_0_and_it_is_not_called_nothing(type_in):
    ran = type_in("review", "--all", "--ignore", "*", "--check")
    assert ran.returncode == 0
    assert "Clean: no problems found (9 left out)." in ran.stdout
    report = type_in("report", "--format", "md").stdout
    assert "9 findings are left out, no other here" in report
    whole = type_in("run", "--all", "--ignore", "*", "--no-checks")
    assert "clean: nothing was found that counts" in whole.stdout


def test_less_severe_findings_are_left_out_or_let_pass(type_in):
    code, counted, left_out = review(type_in, "--all", "--min-severity", "major")
    assert code == 1
    assert "F401" not in {rule for _, rule in counted}
    assert set(left_out.values()) == {"--min-severity"}
    code, counted, left_out = review(type_in, "--all", "--fail-on", "critical", "--check")
    assert (code, len(counted), left_out) == (0, 9, {})
    assert review(type_in, "--all", "--fail-on", "major")[0] == 1


def test_only_new_findings_count_also_where_everything_is_reviewed(type_in, flawed):
    flawed.git("checkout", "--quiet", "-b", "more")
    moved = "import json\n" + FLAWED
    flawed.commit({"app.py": moved})
    for scope in ((), ("--all",)):
        code, counted, _ = review(type_in, "--new-only", *scope)
        assert (code, counted) == (1, [("app.py", "F401")])


def test_where_no_base_is_known_it_is_said_that_the_gate_is_the_changes_own(type_in, flawed):
    flawed.commit({".punchlist.toml": '[review]\nignore = ["F401"]\n'})
    said = "which findings count is read from the commit under review"
    assert said not in type_in("review", "--all").stdout
    flawed.git("branch", "--move", "only")
    assert said in " ".join(type_in("review", "--all", "--force").stdout.split())


def test_without_a_base_new_findings_cannot_be_told(type_in, flawed):
    flawed.git("branch", "--move", "only")
    ran = type_in("review", "--all", "--new-only", "--check")
    assert ran.returncode == 2
    assert "--base" in ran.stderr


def test_a_folders_own_settings_hold_in_it_and_the_nearest_wins(type_in, flawed):
    flawed.commit(
        {
            ".punchlist.toml": '[review]\nignore = ["F401"]\n',
            "lib/.punchlist.toml": '[review]\nignore = ["E711"]\nexclude = ["/deep"]\n',
        }
    )
    _, counted, left_out = review(type_in, "--all")
    assert ("app.py", "F401") not in counted
    assert ("lib/old.py", "F401") in counted
    assert left_out["app.py", "F401"] == "ignore in .punchlist.toml"
    assert left_out["lib/old.py", "E711"] == "ignore in lib/.punchlist.toml"
    assert left_out["lib/deep/new.py", "S307"] == "exclude in lib/.punchlist.toml"
    assert ("lib/old.py", "E711") in review(type_in, "--all", "--ignore", "S307")[1]


@pytest.mark.parametrize("scope", [(), ("--all",)])
def test_a_change_cannot_switch_off_its_own_gate(type_in, flawed, scope):
    flawed.git("checkout", "--quiet", "-b", "sly")
    flawed.commit(
        {
            "app.py": FLAWED + "\n\nimport sys\n",
            ".punchlist.toml": '[review]\nignore = ["*"]\n',
            "lib/.punchlist.toml": '[review]\nexclude = ["*"]\n',
        }
    )
    ran = type_in("review", "--check", *scope)
    assert ran.returncode == 1
    said = " ".join(ran.stdout.split())
    assert "this change alters which findings count, and that is not used for it" in said
    assert "left out" not in said


def test_a_file_that_cannot_be_understood_switches_nothing_off(type_in, flawed):
    flawed.commit({"lib/.punchlist.toml": '[review]\nignore = "F401\n'})
    ran = type_in("review", "--all", "lib")
    assert ran.returncode == 1
    assert "lib/.punchlist.toml does not say which findings count" in " ".join(ran.stdout.split())


def test_fixes_that_the_code_lacks_fail_the_check_only_if_they_are_severe_enough(type_in):
    only = ("run", "--all", "--no-checks", "--select", "F401", "--json")
    assert type_in(*only).returncode in (0, 3)
    checked = type_in(*only, "--check", "--force")
    assert checked.returncode == 8, checked.stderr
    lenient = type_in(*only, "--check", "--force", "--fail-on", "major")
    assert lenient.returncode == 0


def test_style_counts_only_if_it_is_asked_for(type_in, flawed):
    flawed.commit({"app.py": "import os\n\n\ndef label(price):\n    raise ValueError()\n"})
    del type_in.env["PUNCHLIST_ANALYZERS__RULES"]
    assert review(type_in, "--all", "app.py")[1] == [("app.py", "F401")]
    assert review(type_in, "--all", "app.py", "--select", "RSE1*")[1] == [("app.py", "RSE102")]
    every = review(type_in, "--all", "app.py", "--set", "analyzers.rules=all")[1]
    assert every == [("app.py", "F401"), ("app.py", "RSE102")]


def test_a_selected_rule_is_looked_for_though_it_is_left_out_by_default(make_punchlist, repo):
    repo.commit({"app.py": "import time\n\n\ndef age(at=time.time()):\n    return at\n"})
    for kind in ("correctness", "all"):
        asked = ("--select", "B008", "--set", f"analyzers.rules={kind}")
        assert make_punchlist(repo.root)("review", "--all", *asked).returncode == 1


UNUSED = (
    "import os  # noqa: F401\nfrom typing import List\n\n\ndef read(names: List[str]):\n    pass\n"
)
"""The fix of UP006 brings about another F401, which is fixed in the same commit."""


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("class Price(object):\n    pass\n", ("--select", "UP*")),
        ("class Price(object):\n    pass\n", ("--set", "analyzers.rules=all")),
        (UNUSED, ("--select", "UP006,F401", "--commits", "one")),
    ],
)
def test_fixes_of_rules_that_only_the_run_asked_for_are_proven_elsewhere(
    make_punchlist, repo, tmp_path, text, asked
):
    repo.commit({"app.py": text})
    punchlist = make_punchlist(repo.root)
    punchlist.env |= {"PUNCHLIST_ANALYZERS__RULES": "correctness"}
    ran = punchlist("run", "--all", "--no-checks", *asked)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert punchlist("export", "last", "--to", str(tmp_path / "evidence")).returncode == 0
    (branch,) = repo.git("branch", "--format=%(refname:short)", "--list", "punchlist/*").split()
    punchlist.home = tmp_path / "another"
    proven = punchlist(
        "prove", f"main..{branch}", "--evidence", str(tmp_path / "evidence"), "--yes", "--json"
    )
    assert (proven.returncode, json.loads(proven.stdout)["verdict"]) == (0, "agree")
