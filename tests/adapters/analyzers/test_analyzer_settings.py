"""Which analyzers run, which are there, and tools of the user's own."""

import asyncio
import socket
import sys
from pathlib import Path

import msgspec
import pytest

from punchlist.adapters.analyzers.registry import (
    ANALYZERS,
    build_analyzers,
    build_unsuppressed,
    detect_analyzers,
)
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.analyzers.tool import ARGV_LIMIT, Kit, chunk_files, run_probe
from punchlist.adapters.analyzers.tools.biome import Biome
from punchlist.adapters.analyzers.tools.custom import CustomTool
from punchlist.adapters.sandbox import support
from punchlist.adapters.sandbox.sandbox import SandboxWishes
from punchlist.adapters.sandbox.support import sandbox_kind
from punchlist.errors import SettingsError
from punchlist.model.finding.severity import Severity

NOWHERE = Kit(find=lambda _: None)
CODE = "import os\nprint(eval(input()))\n"


def own(code, **options):
    """A tool that is a Python program."""
    return CustomTool(
        name="mine", command=(sys.executable, "-c", code, *options.pop("then", ())), **options
    )


def ran(tree, tool, paths=None):
    return asyncio.run(
        build_analyzers(AnalyzerSettings(enabled=(tool.name,), custom=(tool,)))[tool.name].analyze(
            tree, paths
        )
    )


def test_auto_is_what_comes_along_what_is_found_and_the_users_own():
    found = build_analyzers(AnalyzerSettings(custom=(own(""),)), NOWHERE)
    assert {"ruff", "bandit", "mine"} <= found.keys()
    assert not {"ast-grep", "semgrep"} & found.keys(), "these have nothing to do without rules"
    assert "ast-grep" in build_analyzers(AnalyzerSettings(ast_grep_rules="id: x"), NOWHERE)


def test_settings_are_read_from_plain_data():
    raw = b'{"enabled": ["ruff"], "select": ["F"], "custom": [{"name": "x", "command": ["x"], "format": "sarif"}]}'
    assert msgspec.json.decode(raw, type=AnalyzerSettings).custom[0].format == "sarif"
    assert msgspec.json.decode(b'{"enabled": "auto"}', type=AnalyzerSettings) == AnalyzerSettings()
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"enabled": "all"}', type=AnalyzerSettings)


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(SettingsError, match="rufff") as caught:
        build_analyzers(AnalyzerSettings(enabled=("rufff",)))
    assert "'ruff'" in caught.value.hint


@pytest.mark.parametrize(
    "odd", [{"name": "ruff"}, {"format": "xml"}, {"severity": "purple"}, {"command": ()}]
)
def test_a_custom_tool_that_cannot_work_is_refused_at_once(odd):
    tool = msgspec.structs.replace(own(""), **odd)
    with pytest.raises(SettingsError, match=r"analyzers\.custom"):
        build_analyzers(AnalyzerSettings(custom=(tool,)))


@pytest.mark.parametrize("program", ["./tools/lint", "tools/lint", "../lint"])
def test_a_custom_tool_of_the_tree_under_review_is_refused_at_once(program):
    with pytest.raises(
        SettingsError, match=r"analyzers\.custom\.mine: .*code under review"
    ) as caught:
        build_analyzers(
            AnalyzerSettings(custom=(CustomTool(name="mine", command=(program, "{files}")),))
        )
    assert caught.value.hint == "give an absolute path or a program on PATH"


def test_an_enabled_tool_that_is_not_installed_is_a_failure_not_a_clean_answer(grown):
    analyzer = build_analyzers(AnalyzerSettings(enabled=("shellcheck",)), NOWHERE)["shellcheck"]
    assert (
        "not installed" in asyncio.run(analyzer.analyze(grown({"a.sh": "echo $1\n"}), None)).failed
    )


def test_what_is_there_is_told_with_its_version():
    found = {tool.name: tool for tool in asyncio.run(detect_analyzers((), NOWHERE))}
    assert found.keys() == ANALYZERS.keys()
    assert all(
        found[name].there and found[name].version[0].isdigit()
        for name in ("ruff", "bandit", "ast-grep")
    )
    assert not found["shellcheck"].there


def test_ruff_and_bandit_answer_through_the_same_port(grown):
    tree = grown({"a.py": CODE})
    for name, analyzer in build_analyzers(AnalyzerSettings(enabled=("ruff", "bandit"))).items():
        analysis = asyncio.run(analyzer.analyze(tree, None))
        assert {f.source for f in analysis.findings} == {name}


def test_tools_that_can_report_what_comments_hide_do_so_when_asked(grown):
    """Where a new version of a tool calls the option something else, this fails."""
    tree = grown({"a.py": f"# ruff: file-ignore[F401]\n{CODE.rstrip()}  # nosec\n"})
    code = "import sys; print(f'{sys.argv[2]}:1: error: {sys.argv[1]}')"
    mine = own(code, then=("{files}",), unsuppressed=("--all",))
    settings = AnalyzerSettings(custom=(mine, CustomTool(name="deaf", command=("deaf",))))
    names = ("ruff", "bandit", "mine", "deaf", "gone", "mypy")
    loud, bare = build_analyzers(settings, None, names), build_unsuppressed(settings, None, names)
    assert list(bare) == ["ruff", "bandit", "mine"]
    heard = {name: asyncio.run(bare[name].analyze(tree, None)) for name in bare}
    assert not any(said.failed for said in heard.values())
    assert "F401" in {finding.rule for finding in heard["ruff"].findings}
    assert "B307" in {finding.rule for finding in heard["bandit"].findings}
    assert [(f.spot.path, f.title) for f in heard["mine"].findings] == [("a.py", "--all")]
    for name in ("ruff", "bandit"):
        before = asyncio.run(loud[name].analyze(tree, None)).findings
        assert not {"F401", "B307"} & {finding.rule for finding in before}


def test_a_tool_of_the_users_own_gets_the_files_it_wants(grown):
    tree = grown({"a.py": CODE, "b c.txt": "x", "-d.py": CODE})
    code = "import sys\nfor name in sys.argv[1:-1]: print(f'{name}:1: warning: odd')"
    analysis = ran(tree, own(code, then=("{files}", "--end"), files=("*.py",), severity="minor"))
    assert [(f.spot.path, f.severity) for f in analysis.findings] == [
        ("-d.py", Severity.MINOR),
        ("a.py", Severity.MINOR),
    ]
    assert analysis.looked_at == 2


def test_a_tool_without_files_in_its_command_finds_them_itself_and_answers_for_what_was_asked(
    grown,
):
    tool = own("print('a.py:1: error: x'); print('b.py:1: error: y')")
    tree = grown({"a.py": "x\n", "b.py": "y\n"})
    assert [f.title for f in ran(tree, tool).findings] == ["x", "y"]
    assert [f.title for f in ran(tree, tool, ["b.py"]).findings] == ["y"]


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.exit(3)",
        "import sys; sys.exit(1)",
        "import os; os.kill(os.getpid(), 9)",
        "print('a.py:1: x'); 1/0",
    ],
)
def test_a_tool_that_fails_says_so_and_never_raises(grown, code):
    tool = own(code, exits=(0, 1) if "1/0" not in code else (0,))
    assert ran(grown({"a.py": "x\n"}), tool).failed


def test_the_time_a_tool_may_take_is_a_setting(grown):
    tool = own("import time; time.sleep(60)")
    analyzer = build_analyzers(AnalyzerSettings(custom=(tool,), timeout=0.3), NOWHERE)["mine"]
    assert (
        "timed out after 0.3 s" in asyncio.run(analyzer.analyze(grown({"a.py": ""}), None)).failed
    )


def test_what_a_failed_tool_said_is_kept(grown):
    analysis = ran(grown({"a.py": "x\n"}), own("print('a.py:1: error: x'); 1/0", exits=(0,)))
    assert "ZeroDivisionError" in analysis.failed
    assert [f.title for f in analysis.findings] == ["x"]


REACHES = "import socket\ntry: socket.create_connection(('127.0.0.1', {port}), 2); print('a.py:1: reached')\nexcept OSError: print('a.py:1: cut off')\n"
WRITES = "try: open('a.py', 'a').write('!'); print('a.py:1: written')\nexcept OSError: print('a.py:1: refused')\n"


@pytest.mark.skipif(
    sandbox_kind() != "bubblewrap", reason="no bubblewrap here: analyzers run without walls"
)
@pytest.mark.parametrize(
    ("walled", "said"), [(True, ["cut off", "refused"]), (False, ["reached", "written"])]
)
def test_only_walls_keep_an_analyzer_from_the_network_and_from_writing_the_tree(
    grown, walled, said, request
):
    kit = NOWHERE if walled else request.getfixturevalue("unfenced")
    tree = grown({"a.py": "x\n"})
    with socket.create_server(("127.0.0.1", 0)) as server:
        tool = own(REACHES.format(port=server.getsockname()[1]) + WRITES)
        analyzer = build_analyzers(AnalyzerSettings(custom=(tool,)), kit)["mine"]
        analysis = asyncio.run(analyzer.analyze(tree, None))
    assert sorted(f.title for f in analysis.findings) == said
    assert (tree.text("a.py") == "x\n") == (said == ["cut off", "refused"])


def test_an_interpreter_that_the_repository_carries_is_not_used(grown, tmp_path):
    carrying = grown({".venv/bin/python": "#!/bin/sh\n", "a.py": ""})
    checkout = tmp_path / "checkout"
    for folder in (".venv", "venv"):
        (checkout / folder / "bin").mkdir(parents=True)
        (checkout / folder / "bin" / "python").write_text("")
    kit = Kit(checkout=checkout)
    assert kit.find_python(carrying) == str(checkout / "venv" / "bin" / "python")
    assert msgspec.structs.replace(kit, tracked=frozenset({"venv"})).find_python(carrying) == ""


@pytest.fixture
def unfenced(monkeypatch):
    """A kit on a machine that has no sandbox, whose user consented."""
    monkeypatch.setattr(support, "find_bubblewrap", str)
    monkeypatch.setattr(support, "find_version", lambda: 0)
    return Kit(wishes=SandboxWishes(unfenced=True))


def test_analyzers_work_without_walls(grown, unfenced):
    tools = build_analyzers(AnalyzerSettings(enabled=("ruff", "bandit")), unfenced)
    tree = grown({"a.py": CODE})
    assert all(asyncio.run(tool.analyze(tree, None)).findings for tool in tools.values())


def test_a_program_that_the_repository_carries_is_not_run(grown):
    tree = grown(
        {
            "node_modules/.bin/eslint": "#!/bin/sh\ntouch /tmp/pwned\n",
            "a.js": "",
            "eslint.config.js": "",
        }
    )
    kit = Kit(checkout=tree.root, find=lambda _: None)
    assert (
        "not run"
        in asyncio.run(
            build_analyzers(AnalyzerSettings(), kit)["eslint"].analyze(tree, None)
        ).skipped
    )
    asked = AnalyzerSettings(enabled=("eslint",))
    assert (
        "not run" in asyncio.run(build_analyzers(asked, kit)["eslint"].analyze(tree, None)).failed
    )


def test_many_files_go_in_portions_that_fit_a_command_line():
    names = [f"folder/{'n' * 90}{number}.py" for number in range(5000)]
    parts = list(chunk_files(names))
    assert [name for part in parts for name in part] == names
    assert len(parts) > 1
    assert all(sum(len(name) + 1 for name in part) <= ARGV_LIMIT for part in parts)
    assert list(chunk_files(["x" * 2 * ARGV_LIMIT])) == [["x" * 2 * ARGV_LIMIT]]


def test_portions_of_one_analysis_are_one_answer(grown, monkeypatch):
    monkeypatch.setattr(
        "punchlist.adapters.analyzers.tool.chunk_files", lambda files: [[name] for name in files]
    )
    tree = grown({f"{letter}.py": "import os\n" for letter in "cab"})
    analysis = asyncio.run(
        build_analyzers(AnalyzerSettings(enabled=("ruff",)))["ruff"].analyze(tree, None)
    )
    assert [(f.id, f.spot.path) for f in analysis.findings] == [
        ("ruff:1", "a.py"),
        ("ruff:2", "b.py"),
        ("ruff:3", "c.py"),
    ]


def test_the_checkouts_folders_are_lent_to_the_tree_only_while_a_tool_runs(grown, tmp_path):
    checkout = tmp_path / "checkout"
    program = checkout / "node_modules" / ".bin" / "eslint"
    program.parent.mkdir(parents=True)
    report = '[{"filePath": "a.js", "messages": [{"message": "m", "line": 1, "column": 1, "ruleId": "seen"}]}]'
    program.write_text(f"#!/bin/sh\ntest -e node_modules/.bin/eslint && echo '{report}'\n")
    program.chmod(0o755)
    tree = grown({"a.js": "x\n", "eslint.config.js": ""})
    analyzer = build_analyzers(AnalyzerSettings(), Kit(checkout=checkout, find=lambda _: None))[
        "eslint"
    ]
    analysis = asyncio.run(analyzer.analyze(tree, None))
    assert (analysis.failed, [f.rule for f in analysis.findings]) == ("", ["seen"])
    assert not Path(tree.root / "node_modules").is_symlink()


def test_a_program_of_the_checkout_needs_walls_or_consent(grown, tmp_path, unfenced):
    program = tmp_path / "checkout/.venv/bin/mypy"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    kit = msgspec.structs.replace(unfenced, checkout=tmp_path / "checkout", find=lambda _: None)
    assert kit.find_program("mypy") == (str(program),)
    refusing = msgspec.structs.replace(kit, wishes=SandboxWishes())
    assert refusing.find_program("mypy") != (str(program),)
    mark = tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    ran = asyncio.run(run_probe([str(program), "--version"], refusing))
    assert "sandbox.unfenced" in ran.trouble
    assert not mark.exists()


def test_an_extra_that_is_not_installed_is_no_news_unless_it_is_asked_for(grown, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/bin/python")
    tree = grown({"a.py": CODE, "pyproject.toml": "[tool.bandit]\n"})
    assert not {"bandit", "ast-grep"} & build_analyzers(AnalyzerSettings(), NOWHERE).keys()
    rules = AnalyzerSettings(ast_grep_rules="id: x")
    missed = {
        "bandit": build_analyzers(AnalyzerSettings(enabled=("bandit",)), NOWHERE)["bandit"],
        "ast-grep": build_analyzers(rules, NOWHERE)["ast-grep"],
    }
    for name, analyzer in missed.items():
        failed = asyncio.run(analyzer.analyze(tree, None)).failed
        assert f'pip install "punchlist[{name}]"' in failed


@pytest.mark.parametrize(
    ("settings", "skipped"),
    [
        ({}, ""),
        ({"biome.json": "{}", "eslint.config.js": ""}, ""),
        ({"eslint.config.js": ""}, "settings for eslint"),
        ({"package.json": '{"eslintConfig": {}}'}, "settings for eslint"),
    ],
)
def test_biome_looks_by_its_own_defaults_unless_the_project_configures_eslint_alone(
    grown, settings, skipped
):
    tree = grown({"a.js": "let x = 1\n", **settings})
    said = Biome().skip_reason(tree)
    assert (skipped in said) if skipped else said == ""
    wanted = [path for path in ("a.js", "package-lock.json") if Biome().wants_file(path, tree)]
    assert wanted == ["a.js"]
