"""Checks over a work tree: what they tell per test, and everything that must never count as green."""

import asyncio
import subprocess
import sys

import pytest
from msgspec.structs import replace

import needs
from punchlist.adapters.checks.child_lines import switch_off_others
from punchlist.adapters.checks.kept_output import LIMIT
from punchlist.adapters.checks.runner import LocalCheckRunner
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.process.fixed_addresses import find_prefix
from punchlist.model.checks.check import Check, CheckKind
from punchlist.model.checks.check import TestOutcome as Outcome

PASSED, FAILED, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED
# Plugins of the machine make each run slower, and are not what is tested here.
LEAN = (sys.executable, "-m", "pytest", "--disable-plugin-autoload")
PYTEST = Check(name="pytest", command=LEAN, kind=CheckKind.PYTEST, timeout=60)
UNITTEST = Check(
    name="unittest",
    command=(sys.executable, "-m", "unittest", "discover", "-s", "tests"),
    kind=CheckKind.UNITTEST,
    timeout=60,
)
PROJECT = {
    "app.py": "def double(x):\n    return 2 * x\n",
    "tests/test_app.py": (
        "import pytest\nfrom app import double\n\n"
        "def test_two():\n    assert double(1) == 2\n\n"
        "class TestMore:\n    @pytest.mark.parametrize('x', ['a/b', 'c::d'])\n    def test_text(self, x):\n        assert double(x) == x + x\n\n"
        "def test_wrong():\n    assert double(1) == 3\n\n"
        "@pytest.mark.skip\ndef test_later():\n    pass\n"
    ),
    "tests/test_other.py": "def test_other():\n    pass\n",
}


def sh(script: str, **options) -> Check:
    return Check(name="sh", command=("sh", "-c", script), **options)


def test_each_test_is_told_by_the_id_pytest_knows_it_by(checked, walls):
    result = checked.run(PYTEST, checked.tree(PROJECT))
    assert result.tests == {
        "tests/test_app.py::test_two": PASSED,
        "tests/test_app.py::TestMore::test_text[a/b]": PASSED,
        "tests/test_app.py::TestMore::test_text[c::d]": PASSED,
        "tests/test_app.py::test_wrong": FAILED,
        "tests/test_app.py::test_later": SKIPPED,
        "tests/test_other.py::test_other": PASSED,
    }
    assert (result.exit_code, result.trouble, result.green) == (1, "", False)
    assert "assert 2 == 3" in result.output
    assert "test session starts" not in result.output


def test_a_limited_run_runs_the_files_of_these_tests(checked, walls):
    only = ["tests/test_other.py::test_other"]
    assert list(checked.run(PYTEST, checked.tree(PROJECT), only=only).tests) == only


def test_a_limited_run_does_not_add_to_the_paths_the_command_names(checked):
    check = Check(
        name="pytest", command=(*LEAN, "-k", "tests or test_", "tests"), kind=CheckKind.PYTEST
    )
    only = ["tests/test_other.py::test_other"]
    assert list(checked.run(check, checked.tree(PROJECT), only=only).tests) == only


def test_a_run_limited_to_an_unknown_test_runs_everything(checked):
    assert len(checked.run(PYTEST, checked.tree(PROJECT), only=["no.such::test"]).tests) == 6


def test_nothing_is_left_in_the_tree(checked, walls):
    tree = checked.tree(PROJECT)
    checked.run(PYTEST, tree)
    found = {str(path.relative_to(tree.root)) for path in tree.root.rglob("*") if path.is_file()}
    assert found == set(PROJECT)


def test_the_project_s_own_options_do_not_silence_the_report(checked):
    ini = "[pytest]\naddopts = -qq -x --strict-config --junitxml=mine.xml\n"
    result = checked.run(PYTEST, checked.tree({**PROJECT, "pytest.ini": ini}))
    assert len(result.tests) == 6
    assert result.trouble == ""


def test_failures_in_set_up_teardown_and_parts_agree_with_what_is_printed(checked):
    text = (
        "import pytest, unittest\n"
        "@pytest.fixture\ndef bad():\n    yield\n    raise ValueError\n"
        "def test_teardown(bad): pass\ndef test_both(bad): assert 0\n"
        "@pytest.mark.xfail\ndef test_expected(): assert 0\n"
        "@pytest.mark.xfail\ndef test_unexpected(): pass\n"
        "class TestParts(unittest.TestCase):\n    def test_parts(self):\n        for i in range(3):\n"
        "            with self.subTest(i=i): self.assertNotEqual(i, 1)\n"
    )
    result = checked.run(PYTEST, checked.tree({"test_odd.py": text}))
    assert result.trouble == ""
    assert {name.rpartition("::")[2]: outcome for name, outcome in result.tests.items()} == {
        "test_teardown": FAILED,
        "test_both": FAILED,
        "test_expected": SKIPPED,
        "test_unexpected": PASSED,
        "test_parts": FAILED,
    }


def test_a_module_that_cannot_be_imported_is_a_failing_test(checked):
    result = checked.run(PYTEST, checked.tree({"tests/test_gone.py": "import nothing_like_it\n"}))
    assert result.tests == {"tests/test_gone.py": FAILED}
    assert not result.green


@pytest.mark.parametrize(
    ("app", "trouble"),
    [
        ("import os; os._exit(0)", "it wrote no report of its tests: it ended early"),
        (
            "import sys, threading, os; threading.Timer(0.2, os._exit, [0]).start()\nimport time; time.sleep(5)",
            "ended early",
        ),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended "),
        ("import sys; sys.exit(0)", ""),
        ("raise KeyboardInterrupt", ""),
    ],
)
def test_code_that_ends_the_runner_is_trouble(checked, app, trouble):
    result = checked.run(
        PYTEST,
        checked.tree({"app.py": app, "test_app.py": "import app\n\ndef test_it():\n    pass\n"}),
    )
    assert result.trouble
    assert trouble in result.trouble
    assert not result.green


@pytest.mark.serial
def test_code_that_stalls_the_runner_is_trouble(checked, walls):
    check = Check(name="pytest", command=LEAN, kind=CheckKind.PYTEST, timeout=1.5)
    result = checked.run(
        check,
        checked.tree({"app.py": "import time; time.sleep(60)", "test_app.py": "import app\n"}),
    )
    assert (result.trouble, result.green) == ("timed out after 1.5 s", False)
    assert result.seconds < 4


def test_an_exit_in_the_middle_that_says_success_is_trouble(checked):
    text = "import os\n\ndef test_one():\n    pass\n\ndef test_two():\n    os._exit(0)\n"
    result = checked.run(PYTEST, checked.tree({"test_app.py": text}))
    assert (result.exit_code, result.trouble) == (
        0,
        "it wrote no report of its tests: it ended early",
    )


def test_a_polite_request_to_stop_with_success_is_trouble(checked):
    text = "import pytest\n\ndef test_one():\n    pass\n\ndef test_two():\n    pytest.exit('enough', returncode=0)\n\ndef test_three():\n    pass\n"
    result = checked.run(PYTEST, checked.tree({"test_app.py": text}))
    assert (result.exit_code, result.trouble) == (
        0,
        "it ended early: _pytest.outcomes.Exit: enough",
    )


def test_a_report_that_the_judged_code_rewrote_is_not_believed(checked):
    forged = (
        "import atexit, sys\n"
        "at = sys.argv[sys.argv.index('--junitxml') + 1]\n"
        "atexit.register(lambda: open(at, 'w').write('<testsuite><testcase classname=\"test_app\" name=\"test_it\"/></testsuite>'))\n"
    )
    files = {"app.py": forged, "test_app.py": "import app\n\ndef test_it():\n    assert 0\n"}
    result = checked.run(PYTEST, checked.tree(files))
    assert 'it printed "1 failed" and reported 1 tests with 0 failures' in result.trouble


@pytest.mark.parametrize(
    "trick", ["os.mkfifo(at)", "os.symlink('/etc/passwd', at)", "os.mkdir(at)"]
)
def test_a_report_that_is_no_plain_file_is_neither_followed_nor_waited_for(checked, trick):
    app = f"import atexit, os, sys\nat = sys.argv[sys.argv.index('--junitxml') + 1]\natexit.register(lambda: (os.remove(at), {trick}))\n"
    result = checked.run(
        PYTEST,
        checked.tree({"app.py": app, "test_app.py": "import app\n\ndef test_it():\n    pass\n"}),
    )
    assert result.trouble.startswith("its report of the tests cannot be read")


@pytest.mark.parametrize("target", ["../../victim", "nowhere"])
def test_a_linked_folder_in_the_tree_does_not_lead_what_is_lent_out_of_it(checked, walls, target):
    subprocess.run(["git", "-C", str(checked.checkout), "init", "-q"], check=True)
    (checked.checkout / "pkg").mkdir()
    (checked.checkout / "pkg/code.py").write_text("")
    (checked.checkout / "pkg/_version.py").write_text("generated")
    (checked.checkout / ".gitignore").write_text("_version.py\n")
    subprocess.run(["git", "-C", str(checked.checkout), "add", "--all"], check=True)
    victim = checked.base / "victim"
    victim.mkdir()
    tree = checked.tree({"file": ""})
    (tree.root / "pkg").symlink_to(target)
    assert not checked.run(sh("true"), tree).trouble
    assert list(victim.iterdir()) == []


def test_success_beside_a_failing_test_is_trouble(checked):
    conftest = "import pytest\n@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
    result = checked.run(
        PYTEST,
        checked.tree({"conftest.py": conftest, "test_app.py": "def test_it():\n    assert 0\n"}),
    )
    assert result.exit_code == 0
    assert result.trouble == "it exits 0 and reports 1 failing tests"


def test_no_tests_is_trouble_whatever_the_exit_code(checked):
    assert checked.run(PYTEST, checked.tree({"app.py": ""})).trouble == "no test was collected"
    conftest = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
    result = checked.run(PYTEST, checked.tree({"conftest.py": conftest}))
    assert (result.exit_code, result.trouble) == (0, "no test ran")


def test_a_command_line_pytest_refuses_is_trouble(checked):
    check = Check(
        name="pytest", command=(*PYTEST.command, "--no-such-option"), kind=CheckKind.PYTEST
    )
    assert (
        checked.run(check, checked.tree(PROJECT)).trouble
        == "pytest did not understand its command line"
    )


@pytest.mark.parametrize(
    ("conftest", "cause"),
    [
        ("from app import gone\n", "ImportError: cannot import name 'gone' from 'app'"),
        ("import app\napp.fail()\n", "ZeroDivisionError: division by zero"),
        ("def broken(:\n    pass\n", "SyntaxError: "),
    ],
)
def test_a_conftest_that_cannot_be_imported_is_named_with_its_error(checked, conftest, cause):
    app = "def fail():\n    1 / 0\n"
    tree = checked.tree({"app.py": app, "tests/conftest.py": conftest, "tests/test_app.py": ""})
    trouble = checked.run(PYTEST, tree).trouble
    assert trouble.startswith(f"conftest.py cannot be imported: {cause}")


UNITTESTS = {
    "app.py": "def double(x):\n    return 2 * x\n",
    "tests/test_app.py": (
        "import unittest\nfrom app import double\n\nclass TestApp(unittest.TestCase):\n"
        "    def test_two(self):\n        self.assertEqual(double(1), 2)\n"
        "    def test_wrong(self):\n        self.assertEqual(double(1), 3)\n"
        "    @unittest.skip('later')\n    def test_later(self):\n        pass\n"
        "    def test_parts(self):\n        for i in range(2):\n            with self.subTest(i=i):\n                self.assertEqual(i, 0)\n"
    ),
    "tests/test_more.py": "import unittest\n\nclass TestMore(unittest.TestCase):\n    def test_more(self):\n        pass\n",
}


def test_unittest_tells_each_test_too(checked, walls):
    result = checked.run(UNITTEST, checked.tree(UNITTESTS))
    assert result.tests == {
        "test_app.TestApp.test_two": PASSED,
        "test_app.TestApp.test_wrong": FAILED,
        "test_app.TestApp.test_later": SKIPPED,
        "test_app.TestApp.test_parts": FAILED,
        "test_more.TestMore.test_more": PASSED,
    }
    assert (result.exit_code, result.trouble) == (1, "")
    assert "AssertionError: 2 != 3" in result.output


def test_unittest_can_be_limited_to_modules(checked):
    result = checked.run(UNITTEST, checked.tree(UNITTESTS), only=["test_more.TestMore.test_more"])
    assert (result.tests, result.green) == ({"test_more.TestMore.test_more": PASSED}, True)


def test_unittest_that_ends_early_keeps_what_it_told_and_is_trouble(checked):
    more = "import os, unittest\n\nclass TestMore(unittest.TestCase):\n    def test_a(self):\n        pass\n    def test_b(self):\n        os._exit(0)\n"
    result = checked.run(UNITTEST, checked.tree({"tests/test_more.py": more}))
    assert result.exit_code == 0
    assert "ended early" in result.trouble


def test_a_plain_check_passes_on_exit_0_and_fails_on_everything_else(checked, walls):
    tree = checked.tree({"file": "content"})
    assert checked.run(sh("cat file"), tree).green
    red = checked.run(sh("echo out; echo err >&2; exit 3"), tree)
    assert (red.exit_code, red.green, red.trouble) == (3, False, "")
    assert red.output == "out\n--- standard error ---\nerr\n"
    gone = Check(name="gone", command=("no-such-command",))
    assert checked.run(gone, tree).trouble == "command not found: no-such-command"
    crash = checked.run(sh("kill -SEGV $$"), tree)
    assert not crash.green
    assert checked.run(sh("sleep 60", timeout=0.3), tree).trouble == "timed out after 0.3 s"


def test_a_junit_check_is_read_from_its_file_and_an_old_file_is_not(checked, walls):
    report = '<testsuite tests="2"><testcase classname="a.B" name="one"/><testcase classname="a.B" name="two"><failure/></testcase></testsuite>'
    tree = checked.tree({"fresh.xml": report, "out/report.xml": report})
    check = sh("cp fresh.xml out/report.xml; exit 1", kind=CheckKind.JUNIT, junit="out/report.xml")
    assert checked.run(check, tree).tests == {"a.B::one": PASSED, "a.B::two": FAILED}
    silent = sh("true", kind=CheckKind.JUNIT, junit="out/report.xml")
    assert checked.run(silent, tree).trouble == "it wrote no report of its tests: it ended early"


def test_a_junit_setting_cannot_reach_out_of_the_tree(checked):
    outside = checked.base / "precious.xml"
    outside.write_text("<testsuite/>")
    tree = checked.tree({"file": ""})
    (tree.root / "link.xml").symlink_to(outside)
    for name in ("../../precious.xml", "link.xml"):
        assert checked.run(sh("true", kind=CheckKind.JUNIT, junit=name), tree).trouble
    assert outside.exists()


def test_much_output_keeps_its_ends_and_is_no_trouble(checked):
    result = checked.run(sh("seq 1 300000"), checked.tree({"file": ""}))
    assert result.green
    assert result.output.startswith("1\n2\n")
    assert result.output.endswith("299999\n300000\n")
    assert "are missing here" in result.output
    assert len(result.output) < LIMIT


def test_a_cancelled_check_is_no_result_and_leaves_the_tree_clean(checked, walls, cancelled):
    (checked.checkout / "node_modules").mkdir()
    tree = checked.tree({"file": ""})

    async def begun_and_cancelled():
        task = asyncio.create_task(LocalCheckRunner(checked.checkout).run(sh("sleep 60"), tree))
        await asyncio.sleep(0.4)
        return await cancelled(task)

    assert asyncio.run(begun_and_cancelled()) < 1
    assert [path.name for path in tree.root.iterdir()] == ["file"]


def test_a_check_sees_neither_the_user_s_checkout_nor_what_is_hidden(checked, walls):
    (checked.checkout / "mine.txt").write_text("uncommitted")
    (checked.base / "state").mkdir()
    (checked.base / "state/ledger").write_text("secret")
    script = f"ls; cat {checked.base}/state/ledger || true"
    result = checked.run(sh(script), checked.tree({"file": ""}))
    assert result.output.startswith("file\n")
    assert "mine.txt" not in result.output
    assert ("secret" in result.output) == (
        walls == "none"
    )  # said in the docs: without bubblewrap nothing is hidden


def test_the_user_s_checkout_cannot_be_written_to(checked, walls):
    (checked.checkout / "mine.txt").write_text("uncommitted")
    checked.run(
        sh(f"echo changed > {checked.checkout}/new.txt; echo changed > mine.txt"),
        checked.tree({"mine.txt": "committed"}),
    )
    assert (checked.checkout / "mine.txt").read_text() == "uncommitted"
    assert not (checked.checkout / "new.txt").exists() or walls == "none"


def test_ignored_folders_of_the_checkout_are_lent_and_caches_and_keys_are_not(checked, walls):
    git = ["git", "-C", str(checked.checkout)]
    subprocess.run([*git, "init", "-q"], check=True)
    for path in (
        "node_modules/lib/index.js",
        "pkg/_version.py",
        ".env",
        "pkg/__pycache__/x.pyc",
        "pkg/code.py",
    ):
        (checked.checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (checked.checkout / path).write_text("lent")
    (checked.checkout / ".gitignore").write_text("node_modules\n_version.py\n.env\n__pycache__\n")
    subprocess.run([*git, "add", "--all"], check=True)
    tree = checked.tree(
        {"pkg/code.py": "", ".gitignore": (checked.checkout / ".gitignore").read_text()}
    )
    result = checked.run(sh("cat node_modules/lib/index.js pkg/_version.py; ls -A . pkg"), tree)
    assert result.output.startswith("lentlent")
    assert ".env" not in result.output
    assert "__pycache__" not in result.output
    assert sorted(path.name for path in tree.root.rglob("*")) == [".gitignore", "code.py", "pkg"]


@pytest.mark.parametrize(
    "name",
    ["prod.pem", "tls/server.key", "id_ed25519", "credentials.yml", "secrets.json", ".envrc"],
)
def test_keys_in_an_ignored_folder_that_is_lent_are_not_read(checked, walls, name):
    subprocess.run(["git", "-C", str(checked.checkout), "init", "-q"], check=True)
    for path, text in {
        f"deploy/{name}": "key",
        "deploy/secrets.py": "code",
        ".gitignore": "deploy\n",
    }.items():
        (checked.checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (checked.checkout / path).write_text(text)
    result = checked.run(
        sh(f"cat deploy/secrets.py deploy/{name}"), checked.tree({".gitignore": "deploy\n"})
    )
    assert result.output == "code" or walls != "bubblewrap"


def test_a_check_can_ask_git_about_the_tree_whose_objects_lie_in_the_checkout(
    repo, tmp_path, walls
):
    """As projects do that take their version from tags; the state folder that holds the tree is hidden."""
    commit = repo.commit({"file": "content"}, "the first")
    repo.git("tag", "v1.2")
    repo.write("file", "uncommitted")

    async def told():
        workshop = await Workshop.open(await Checkout.find(repo.root), tmp_path / "state")
        async with WorkTrees(workshop).open_tree(commit) as tree:
            runner = LocalCheckRunner(repo.root, hidden=(tmp_path / "state",))
            return await runner.run(
                sh("git describe --tags; git log -1 --format=%s; git status --short; cat file"),
                tree,
            )

    result = asyncio.run(told())
    assert result.output == "v1.2\nthe first\ncontent"


@pytest.mark.parametrize(
    ("check", "named"),
    [(PYTEST, "tests/test_b.py"), (UNITTEST, "unittest.loader._FailedTest.test_b")],
)
def test_a_file_that_cannot_be_imported_is_told_apart_and_the_others_run(checked, check, named):
    test = (
        "import unittest\n{}\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n"
    )
    files = {
        "a.py": "",
        "tests/test_a.py": test.format(""),
        "tests/test_b.py": test.format("import nope_x"),
    }
    result = checked.run(check, checked.tree(files))
    assert (result.unloaded, result.trouble) == ((named,), "")
    assert sorted(result.tests.values()) == [FAILED, PASSED]


def test_without_coverage_it_is_said_why_the_executed_lines_are_unknown(checked, tmp_path):
    bare = tmp_path / "bare" / "bin" / "python3"
    bare.parent.mkdir(parents=True)
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    command = (str(bare), "-m", "unittest", "discover", "-s", "tests")
    seen = checked.find_executed(replace(UNITTEST, command=command), checked.tree(PROJECT))
    assert (seen.files, seen.unknown) == ({}, f"coverage.py is not installed for {bare}")
    assert (
        "does not begin with a Python"
        in checked.find_executed(sh("true"), checked.tree({})).unknown
    )


@pytest.mark.parametrize("check", [PYTEST, UNITTEST])
def test_with_coverage_the_executed_lines_are_told_also_those_of_child_processes(checked, check):
    app = (
        "def used():\n    return 1\n\n\ndef unused():\n    return 2\n\n\ndef far():\n    return 3\n"
    )
    call = "subprocess.run([sys.executable, '-c', 'import app; app.far()'], check=True, cwd='/')"
    test = (
        "import subprocess, sys, unittest\nimport app\n\nclass T(unittest.TestCase):\n"
        f"    def test_it(self):\n        assert app.used() == 1\n        {call}\n"
    )
    check = replace(check, command=(needs.covered_python(), *check.command[1:]))
    hidden = "def never():  # pragma: no cover\n    return 1\n\n\nx = 1\n"
    files = {
        "app.py": app,
        "other.py": hidden,
        "broken.py": "def (",
        "made/by_tool.py": "x = 1\n",
        ".coveragerc": "[run]\nomit = made/*\n",
        "tests/test_app.py": test,
    }
    sources = [path for path in files if path.endswith(".py") and not path.startswith("tests")]
    seen = checked.find_executed(check, checked.tree(files), sources)
    assert seen.unknown == ""
    assert seen.files["app.py"] == (1, 2, 5, 9, 10)
    assert seen.statements == {
        "app.py": (1, 2, 5, 6, 9, 10), "other.py": (5,), "broken.py": (0,)
    }, "what no test imports counts, and what the project's settings leave out does not"  # fmt: skip


@pytest.mark.parametrize(
    ("words", "measured"),
    [
        ("-m pytest -q tests", "-m pytest --no-cov -q tests"),
        ("-m pytest --disable-plugin-autoload", "-m pytest --disable-plugin-autoload"),
        ("-m unittest discover", "-m unittest discover"),
    ],
)
def test_pytest_cov_is_off_while_the_executed_lines_are_measured(
    monkeypatch, tmp_path, words, measured
):
    """Its own measuring would suspend ours, and every line would look as if no test executes it."""
    (tmp_path / "pytest_cov.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)
    assert switch_off_others(words.split()) == measured.split()


def test_tests_run_at_the_same_addresses_each_time_where_the_system_lets_them(checked, on_path):
    on_path("setarch")
    find_prefix.cache_clear()
    test = (
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n"
        "        seen = int(open('/proc/self/personality').read(), 16)\n"
        "        assert seen & 0x40000, 'at random'\n"
    )
    if not find_prefix():
        pytest.skip("this system does not let programs switch off address randomisation")
    result = checked.run(UNITTEST, checked.tree({"tests/__init__.py": "", "tests/test_a.py": test}))
    missing = replace(UNITTEST, command=("/nonexistent/python", "-m", "unittest"))
    gone = checked.run(missing, checked.tree({}, "again")).trouble
    find_prefix.cache_clear()
    assert list(result.tests.values()) == [PASSED], result.output
    assert gone == "command not found: /nonexistent/python"
