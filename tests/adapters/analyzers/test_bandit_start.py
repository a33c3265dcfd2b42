"""Bandit's quick start says what bandit's own command line says, and gives way to it in doubt."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from needs import rarely
from punchlist.adapters.analyzers.tools.bandit import START
from punchlist.adapters.analyzers.tools.bandit_start import NosecSearch

SITE = Path(sysconfig.get_path("purelib"))
LIBRARY = Path(sysconfig.get_path("stdlib"))
REAL = ("ftplib.py", "http/cookiejar.py", "tempfile.py", "xmlrpc/client.py")
"""Files of a real project with findings of many kinds: Python's own library."""
OWN = {
    "bad.py": "def (:\n",
    "coded.py": "# coding: utf-9\nx = eval(y)\n",
    "spelled.py": "# coding: utf-7\nexec(a)  # +AG4-osec\n",
    "unended.py": "exec(a)\nx = (1,\n",
    "unindented.py": "if a:\n        exec(a)\n    b\n",
    "carriage.py": "exec(a)\rexec(b)  # nosec\r",
    "nul.py": "exec(a)\n\0\n",
    "latin.py": b"exec(a)\nb = 1  # caf\xe9\nexec(b)\n",
    "latin_first.py": b"# caf\xe9\nexec(a)\n",
    "latin_carriage.py": b"exec(a)\r# caf\xe9\rexec(b)\r",
    "latin_windows.py": b"exec(a)\r\n# caf\xe9\r\nexec(b)\r\n",
    "accents.py": "exec(a)  # café\nexec('é')\n",
    "carriage_only.py": b"if a:\r    exec(a)\r  # there\rexec(b)\r",
    "carriage_indented.py": b"if a:\n    exec(a)\n  # b\rexec(b)\n",
    "nosec.py": "import pickle  # nosec\nimport marshal  # nosec B403\nexec(a)  # nosec assert_used\n",
    "tests/test_a.py": "assert 1\nassert eval('1')  # nosec: B101, B307\n",
    "kinds.py": (
        "import hashlib, os, requests, yaml\nhashlib.md5(b'').hexdigest()\nyaml.load(x)\n"
        "requests.get(u, verify=False)\nos.chmod('a', 0o777)\npassword = 'hunter2'\n"
        "try:\n    pass\nexcept Exception:\n    pass\nq = 'select * from %s' % t\n"
    ),
    "pyproject.toml": "[tool.bandit]\nskips = ['B404']\n[tool.bandit.assert_used]\nskips = ['*/test_*.py']\n",
    "bandit.yaml": "tests: [B301, B307, B403]\nexclude_dirs: ['tests']\n",
    "plain.yaml": "shell_injection:\n  no_shell: []\n  shell: [os.system]\n  subprocess: [subprocess.run]\n",
    "broken.yaml": "a: [\n",
    "list.yaml": "- a\n",
    ".bandit": "[bandit]\nskips = B101,B403\nexclude = tests\n",
    "clash.ini": "[bandit]\ntests = B101\nskips = B101\n",
    "baseline.json": '{"results": []}',
}
WRONG = {"bad", "coded", "latin_carriage", "latin_first", "nul", "unended", "unindented"}
UNREAD = {"latin", "latin_windows"}
"""Files that Python parses; whether bandit can search them for comments depends on Python."""
FORMAT = ("--format=json", "--quiet")
WAYS = {
    "no configuration": ["--skip=B101"],
    "pyproject": ["--configfile=pyproject.toml"],
    "yaml": ["--configfile=bandit.yaml"],
    "yaml of a plug-in": ["--configfile=plain.yaml", "--skip=B101"],
    "ini": ["--ini=.bandit"],
    "suppressions off": ["--skip=B101", "--ignore-nosec"],
    "levels": ["-ll", "-ii"],
    "baseline": ["--skip=B101", "--baseline=baseline.json"],
    "baseline that is missing": ["--baseline=none.json"],
    "broken yaml": ["--configfile=broken.yaml"],
    "yaml that is a list": ["--configfile=list.yaml"],
    "missing configuration": ["--configfile=none.yaml"],
    "clash": ["--ini=clash.ini"],
    "unknown test": ["--tests=B999"],
    "unknown profile": ["--configfile=bandit.yaml", "--profile=none"],
    "another format": ["--format=csv"],
    "xml": ["--format=xml"],
    "yaml format": ["--format=yaml"],
    "debug": ["--debug"],
    "aggregated": ["--aggregate=vuln", "--number=1"],
}


def run(folder, *command, python=sys.executable):
    done = subprocess.run(
        [python, "-I", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    made = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(,\d+)?|^usage: \S+|\S+: error: |sarif,"
    told = [re.sub(made, "", each, flags=re.MULTILINE) for each in (done.stdout, done.stderr)]
    return done.returncode, *(re.sub(r"\s+", " ", each) for each in told)


def imports(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-I", "-X", "importtime", START, *FORMAT, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout)["results"]
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    for name in REAL:
        (root / "real" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(LIBRARY / name, root / "real" / name)
    for name, text in OWN.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


@pytest.fixture
def environment(tmp_path):
    """Makes a Python environment like ours, with a copy of bandit that the test may change."""

    def make(bandit=True):
        root = tmp_path / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", root], check=True)
        scheme = {"base": str(root), "platbase": str(root)}
        site = Path(sysconfig.get_path("purelib", "venv", scheme))
        for each in SITE.iterdir():
            if not each.name.startswith("bandit") and each.suffix != ".pth":
                (site / each.name).symlink_to(each)
            elif bandit and each.suffix != ".pth":
                shutil.copytree(each, site / each.name)
        return site, root / "bin" / "python"

    return make


USUAL = (
    "no configuration",
    "pyproject",
    "suppressions off",
    "debug",
    "missing configuration",
    "xml",
)


@pytest.mark.parametrize("way", [*USUAL, *rarely(*(each for each in WAYS if each not in USUAL))])
def test_it_says_what_bandit_itself_says(project, way):
    files = [str(file.relative_to(project)) for file in sorted(project.rglob("*.py"))]
    line = [*FORMAT, *WAYS[way], "--", *files]
    quick = run(project, START, *line)
    assert quick == run(project, "-m", "bandit", *line)
    if quick[0] < 2 and not any("--format" in each for each in WAYS[way]):
        found = {Path(each["filename"]).stem for each in json.loads(quick[1])["errors"]}
        assert found - UNREAD == WRONG


def test_no_file_no_configuration_and_no_argument_make_a_difference(project):
    for line in ([], ["--", "none.py"], ["--odd"], ["--", "nosec.py"]):
        assert run(project, START, *FORMAT, *line) == run(project, "-m", "bandit", *FORMAT, *line)


def test_what_a_json_report_does_not_need_is_not_imported(project):
    heavy = {"email.message", "stevedore._cache", "rich.console", "yaml.reader", "tomllib._parser"}
    assert not heavy & imports(project, "--", "kinds.py")
    assert heavy & imports(project, "--configfile=plain.yaml", "--", "kinds.py") == {"yaml.reader"}
    toml = imports(project, "--configfile=pyproject.toml", "--", "kinds.py")
    assert heavy & toml == {"tomllib._parser"}


def test_comments_are_searched_for_only_in_files_that_have_some():
    asked = []

    def search(lines, context):
        asked.append(context)
        return lines.get(context)

    quick = NosecSearch(search)
    without, several = {1: None, 2: None}, {1: None, 2: set()}
    found = [quick(lines, line) for lines in (without, several, {}, without) for line in (1, 2)]
    assert found == [None, None, None, set(), None, None, None, None]
    assert asked == [1, 2]


def test_plug_ins_that_are_installed_beside_bandit_are_loaded(project, environment):
    site, python = environment()
    (site / "company_rules.py").write_text(
        "import bandit\nfrom bandit.core import test_properties as test\n\n"
        "@test.checks('Call')\n@test.test_id('B999')\ndef calls(context):\n"
        "    return bandit.Issue(severity=bandit.HIGH, confidence=bandit.HIGH, text='a call')\n"
    )
    (site / "company_rules-1.dist-info").mkdir()
    (site / "company_rules-1.dist-info" / "METADATA").write_text(
        "Name: company-rules\nVersion: 1\n"
    )
    points = site / "company_rules-1.dist-info" / "entry_points.txt"
    points.write_text("[bandit.plugins]\ncalls = company_rules:calls\n")
    line = [*FORMAT, "--", "kinds.py"]
    quick = run(project, START, *line, python=python)
    assert "B999" in {each["test_id"] for each in json.loads(quick[1])["results"]}
    assert quick == run(project, "-m", "bandit", *line, python=python)


def test_a_bandit_that_starts_in_another_way_starts_by_itself(project, environment):
    site, python = environment()
    loader = site / "bandit" / "core" / "extension_loader.py"
    loader.write_text(f"from stevedore import driver\n{loader.read_text()}")
    line = [*FORMAT, "--", "kinds.py"]
    code, report, said = run(project, START, *line, python=python)
    assert (code, said) == (1, "")
    assert json.loads(report)["results"] == json.loads(run(project, START, *line)[1])["results"]


def test_a_plug_in_of_bandit_that_cannot_be_imported_is_treated_as_by_bandit(project, environment):
    site, python = environment()
    (site / "bandit" / "plugins" / "exec.py").write_text("import missing_module\n")
    line = [*FORMAT, "--", "nosec.py"]
    quick = run(project, START, *line, python=python)
    assert quick == run(project, "-m", "bandit", *line, python=python)
    assert json.loads(quick[1])["results"] == []


def test_without_bandit_there_is_no_report(project, environment):
    _, python = environment(bandit=False)
    code, report, said = run(project, START, *FORMAT, "--", "kinds.py", python=python)
    assert (code, report) == (1, "")
    assert "No module named bandit" in said


def test_it_imports_nothing_of_the_folder_it_looks_at(tmp_path):
    for name in ("bandit", "gc", "yaml", "stevedore", "sitecustomize", "types", "logging"):
        (tmp_path / f"{name}.py").write_text("import os\nos._exit(77)\n")
    (tmp_path / "rogue-1.dist-info").mkdir()
    points = tmp_path / "rogue-1.dist-info" / "entry_points.txt"
    points.write_text("[bandit.plugins]\nrogue = yaml:rogue\n")
    (tmp_path / "a.py").write_text("eval(x)\n")
    code, report, _ = run(tmp_path, START, *FORMAT, "--", "a.py")
    assert (code, [each["test_id"] for each in json.loads(report)["results"]]) == (1, ["B307"])
