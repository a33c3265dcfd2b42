"""Code that the configuration of analyzers loads: never the change's, and the base's once it is allowed."""

import json
import os
import stat
import sys

import pytest
from hostile_ground import Ground, notes

PLUGIN = """
from mypy.plugin import Plugin
{more}
open({marker!r}, "a").write("{who} ")
def plugin(version):
    return Plugin
"""
WRONG = "def f(a: str) -> int:\n    return a\n"


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A folder that code in an analyzer can write to: these tests are about what runs, with walls or without."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setattr("punchlist.adapters.sandbox.support.find_bubblewrap", lambda: "")
    monkeypatch.setattr("punchlist.adapters.sandbox.support.find_version", lambda: 0)
    monkeypatch.setenv("PUNCHLIST_SANDBOX__UNFENCED", "true")
    return folder


class World:
    """A base with configuration, and a branch that changes what it names."""

    def __init__(self, repo, ground: Ground, marks) -> None:
        self.repo, self.ground, self.marks = repo, ground, marks
        self.marker = str(marks / "ran")

    def plugin(self, who: str, more: str = "") -> str:
        return PLUGIN.format(marker=self.marker, who=who, more=more)

    def mark(self, who: str) -> str:
        return f"open({self.marker!r}, 'a').write({who + ' '!r})\n"

    def branch(self, base: dict, head: dict) -> None:
        self.repo.commit({"x.py": "x = 1\n", **base})
        self.repo.git("switch", "--quiet", "--create", "topic")
        self.repo.commit({"a.py": WRONG, **head})

    def review(self, *arguments: str, tool: str = "mypy"):
        return self.ground(
            "run",
            "--workflow",
            "review",
            "--json",
            "--set",
            f"analyzers.enabled={tool}",
            *arguments,
        )

    def ran(self) -> str:
        found = self.marks / "ran"
        return found.read_text() if found.exists() else ""

    def loaded(self) -> set[str]:
        """Whose code ran, however often."""
        return set(self.ran().split())


@pytest.fixture
def world(repo, ground, outside) -> World:
    return World(repo, ground, outside)


CONFIGURED = {
    "mypy.ini": "[mypy]\nplugins = {}\n",
    ".mypy.ini": "[DEFAULT]\nplugins = {}\n[mypy]\nstrict = True\n",
    "setup.cfg": "[mypy]\nplugins =\n    {}\n",
    "pyproject.toml": '"tool" . mypy . "plugins" = ["{}"]\n',
}


@pytest.mark.parametrize("name", CONFIGURED)
def test_a_plug_in_does_not_run_unasked_and_the_run_is_not_called_clean(world, name):
    world.branch(
        {name: CONFIGURED[name].format("tools/plugin.py"), "tools/plugin.py": world.plugin("base")},
        {"tools/plugin.py": world.plugin("head")},
    )
    told = world.review()
    assert world.ran() == ""
    assert told.json["report"]["outcome"] == "incomplete", told.stdout
    assert told.code == 3
    assert "plugins = tools/plugin.py would run code that the repository names" in notes(told)


@pytest.mark.parametrize("name", CONFIGURED)
def test_an_allowed_plug_in_is_the_bases_and_nothing_of_the_change_is_loaded_with_it(world, name):
    """Also not a helper that it imports, nor a file beside it with the name of another module."""
    base = world.plugin("base", "import helper, colorsys\nfrom tools import deep")
    world.branch(
        {
            name: CONFIGURED[name].format("tools/plugin.py"),
            "tools/plugin.py": base,
            "tools/helper.py": "y = 1\n",
            "tools/__init__.py": "",
            "tools/deep.py": "import tools.deeper\n",
            "tools/deeper.py": "",
        },
        {
            path: world.mark("head")
            for path in (
                "tools/plugin.py tools/helper.py tools/colorsys.py tools/deep.py tools/deeper.py"
                " colorsys.py sitecustomize.py tools/__init__.py json.py mypy.py helper.py"
            ).split()
        },
    )
    told = world.review("--yes")
    assert world.loaded() == {"base"}, told.stdout + told.stderr
    assert [item["path"] for item in world.ground.items()] == ["a.py"]


def test_a_plug_in_that_is_a_module_of_the_repository_comes_from_the_base(world):
    world.branch(
        {
            "mypy.ini": "[mypy]\nplugins = own.plugin:plugin\n",
            "src/own/__init__.py": "",
            "src/own/plugin.py": world.plugin("base"),
        },
        {
            "src/own/plugin.py": world.plugin("head"),
            "own/plugin.py": world.plugin("head"),
            "own/__init__.py": "",
        },
    )
    world.review()
    assert world.ran() == ""
    told = world.review("--yes")
    assert world.loaded() == {"base"}, told.stdout + told.stderr


def test_what_was_allowed_is_the_exact_text_of_the_configuration_and_the_plug_in(world):
    files = {
        "mypy.ini": "[mypy]\nplugins = plugin.py\n",
        "plugin.py": world.plugin("1", "import helper"),
        "helper.py": "",
    }
    world.repo.commit({"a.py": WRONG, **files})
    told = world.ground("allow")
    assert "allowed: mypy loads code" in told.stdout, told.stdout + told.stderr
    assert world.review("--all").code in (0, 1)
    assert world.ran() == "1 "
    world.repo.commit({"helper.py": world.mark("2")})
    assert "would run code" in notes(world.review("--all"))
    assert world.ran() == "1 "
    world.repo.commit({"helper.py": "", "notes.txt": "other files are no matter\n"})
    world.review("--all")
    assert world.ran() == "1 1 "
    world.ground("allow", "--revoke")
    world.review("--all")
    assert world.ran() == "1 1 "


@pytest.mark.parametrize(
    "more",
    [
        "python_executable = ./evil.sh",
        "junit_xml = {ran}",
        "num_workers = 2",
        "linecount_report = {ran}.d",
        "cache_dir = {ran}.d",
        "any_exprs_report={ran}.d",
    ],
)
def test_what_else_mypys_configuration_could_start_or_write_is_left_out(world, more):
    marker = world.marker
    world.repo.write("evil.sh", f"#!/bin/sh\necho x > {marker}\n", mode=0o755)
    module = {path: world.mark("head") for path in ("mypy.py", "mypy/build_worker.py", "json.py")}
    world.repo.commit(
        {"a.py": WRONG, "mypy.ini": f"[mypy]\nfiles = a.py\n{more.format(ran=marker)}\n", **module}
    )
    told = world.review("--all")
    assert list(world.marks.iterdir()) == []
    assert [item["path"] for item in world.ground.items()] == ["a.py"], told.stdout


@pytest.mark.parametrize(
    "value",
    [
        "../plugin.py",
        "{away}/plugin.py",
        "~/plugin.py",
        "$HOME/plugin.py",
        "link/plugin.py",
        "a/../../p.py",
    ],
)
def test_a_plug_in_outside_of_the_repository_is_refused_and_said(world, value, tmp_path):
    away = tmp_path / "away"
    away.mkdir()
    (away / "plugin.py").write_text(world.plugin("away"))
    (world.repo.root / "link").symlink_to(away)
    value = value.format(away=away)
    world.repo.commit({"a.py": WRONG, "mypy.ini": f"[mypy]\nplugins = {value}\n"})
    told = world.review("--all", "--yes")
    assert world.ran() == ""
    assert told.code == 3
    assert "out of the repository" in notes(told)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ruff.toml", 'extend = "{file}"\n'),
        ("sub/.ruff.toml", 'extend = "../{file}"\n'),
        ("pyproject.toml", '[tool.ruff]\n"extend" = """{file}"""\n'),
    ],
)
def test_what_ruffs_configuration_extends_comes_from_the_base_and_so_on(world, name, text):
    rules = 'lint.select = ["F"]\n'
    world.branch(
        {
            name: text.format(file="conf/a.toml"),
            "conf/a.toml": 'extend = "b.toml"\n',
            "conf/b.toml": rules,
            "sub/y.py": "",
        },
        {
            "conf/b.toml": 'lint.ignore = ["ALL"]\n',
            "sub/z.py": "import os\n",
            "z.py": "import os\n",
        },
    )
    told = world.review(tool="ruff")
    assert "sub/z.py" in {item["path"] for item in world.ground.items()}, told.stdout
    assert "not used: conf/b.toml" in notes(told)


@pytest.mark.parametrize(
    "value", ["{away}", "~/secret", "../../secret", "${{HOME}}/secret", "link"]
)
def test_what_ruffs_configuration_extends_elsewhere_is_refused_and_not_read(world, value, tmp_path):
    away = tmp_path / "secret"
    away.write_text('token = "hunter2"\n')
    (world.repo.root / "link").symlink_to(away)
    world.repo.commit(
        {"a.py": "import os\n", "ruff.toml": f'extend = "{value.format(away=away)}"\n'}
    )
    told = world.review("--all", tool="ruff")
    assert told.code == 3
    assert "out of the repository" in notes(told)
    assert "hunter2" not in told.stdout + told.stderr


def test_a_configuration_file_that_is_a_link_names_the_file_that_it_leads_to(world, tmp_path):
    (world.repo.root / "ruff.toml").symlink_to("conf/ruff.toml")
    world.branch(
        {"conf/ruff.toml": 'lint.select = ["F"]\n'},
        {"conf/ruff.toml": 'lint.ignore = ["ALL"]\n', "z.py": "import os\n"},
    )
    world.review(tool="ruff")
    assert {item["path"] for item in world.ground.items()} == {"z.py"}


def test_a_configuration_file_that_is_a_link_out_of_the_repository_is_not_read(world, tmp_path):
    away = tmp_path / "secret"
    away.write_text('token = "hunter2"\n')
    (world.repo.root / "ruff.toml").symlink_to(away)
    world.repo.commit({"a.py": "import os\n", "sub/ruff.toml": ""})
    told = world.review("--all", tool="ruff")
    assert "leads out of the repository" in notes(told)
    assert "hunter2" not in told.stdout + told.stderr


def test_bandit_takes_its_baseline_from_the_base_and_writes_no_file(world):
    finding = "import subprocess\nsubprocess.call('ls', shell=True)\n"
    world.repo.commit({"a.py": finding, ".bandit": f"[bandit]\noutput = {world.marker}\n"})
    told = world.review("--all", tool="bandit")
    assert "would write a file" in notes(told)
    assert world.ran() == ""


ESLINT = """#!{node}
const fs = require("fs"), path = require("path");
const name = ["eslint.config.js", ".eslintrc.json"].find((each) => fs.existsSync(each));
if (name.endsWith(".js")) require(path.resolve(name));
else for (const each of JSON.parse(fs.readFileSync(name)).extends || []) require(path.resolve(each));
console.log("[]");
"""


@pytest.fixture
def eslint(world, on_path):
    """A program that loads its configuration as ESLint does: it is a program of Node.js, or names some."""
    node = on_path("node") / "node"
    program = world.repo.root / "node_modules/.bin/eslint"
    program.parent.mkdir(parents=True)
    program.write_text(ESLINT.format(node=node))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    world.repo.commit({".gitignore": "node_modules\n"})
    return world


def js(marker: str, who: str, more: str = "") -> str:
    return f"{more}\nrequire('fs').appendFileSync({json.dumps(marker)}, {json.dumps(who + ' ')});\n"


def test_eslints_configuration_is_a_program_and_needs_to_be_allowed(eslint):
    more = "require('./rules/one'); try { require('helper') } catch {}"
    eslint.branch(
        {
            "eslint.config.js": js(eslint.marker, "base", more),
            "rules/one.js": "require('../two')",
            "two/index.js": "",
            "a.js": "",
        },
        {
            **dict.fromkeys(
                (
                    "rules/one.js",
                    "rules/one.cjs",
                    "rules/one",
                    "two.js",
                    "two/index.js",
                    "eslint.config.js",
                    "two.json",
                )[::1],
                js(eslint.marker, "head"),
            ),
            "b.js": "",
            "rules/node_modules/helper/index.js": js(eslint.marker, "head"),
        }
        | {"rules/one": js(eslint.marker, "head")},
    )
    told = eslint.review(tool="eslint")
    assert eslint.ran() == ""
    assert "eslint.config.js is a program, which would run code" in notes(told)
    assert told.json["report"]["outcome"] == "incomplete"
    told = eslint.review("--yes", tool="eslint")
    assert eslint.loaded() == {"base"}, told.stdout


@pytest.mark.parametrize("rules", ["./rules.js", "rules.js"])
def test_eslints_configuration_as_data_loads_what_it_names_from_the_base_once_allowed(
    eslint, rules
):
    eslint.branch(
        {
            ".eslintrc.json": json.dumps({"extends": [rules]}),
            "rules.js": js(eslint.marker, "base"),
            "a.js": "",
        },
        {"rules.js": js(eslint.marker, "head"), "b.js": ""},
    )
    eslint.review(tool="eslint")
    assert eslint.ran() == ""


ODD = """#!{python}
import pathlib, runpy, sys
path = pathlib.Path(".oddrc")
if path.exists():
    runpy.run_path(path.read_text().split("=")[1].strip())
"""


class OddTool:
    """A user's own analyzer, which runs the plug-in that its configuration names."""

    def __init__(self, world: World, folder) -> None:
        self._world = world
        self.program = folder / "odd"
        self.program.write_text(ODD.format(python=sys.executable))
        self.program.chmod(0o755)
        self._settings = folder / "config/punchlist/settings.toml"
        self._settings.parent.mkdir(parents=True)

    def review(self, *arguments: str, command: list[str] | None = None, more: str = ""):
        named = json.dumps(command or [str(self.program)])
        tool = f'[[analyzers.custom]]\nname = "odd"\ncommand = {named}\nfiles = ["*.py"]\n{more}'
        self._settings.write_text(tool)
        place = {"XDG_CONFIG_HOME": str(self._settings.parents[1])}
        chosen = ("--workflow", "review", "--json", "--set", "analyzers.enabled=odd")
        return self._world.ground("run", *chosen, *arguments, **place)


@pytest.fixture
def odd(world, tmp_path) -> OddTool:
    return OddTool(world, tmp_path)


@pytest.mark.parametrize("plugin", ["plugin.py", "./deep/er/plugin.py"])
def test_a_tool_that_punchlist_does_not_know_loads_only_the_bases_code_and_only_if_allowed(
    world, odd, plugin
):
    path = plugin.removeprefix("./")
    world.branch(
        {".oddrc": f"load-plugins = {plugin}\n", path: world.mark("base")},
        {
            path: world.mark("head"),
            ".oddrc": "load-plugins = evil.py\n",
            "evil.py": world.mark("head"),
        },
    )
    told = odd.review()
    assert world.ran() == ""
    assert told.json["report"]["outcome"] == "incomplete"
    assert ".oddrc, which may name plug-ins, would run code" in notes(told)
    odd.review("--yes")
    assert world.loaded() == {"base"}


def test_a_tool_of_which_the_user_says_that_it_loads_no_code_needs_no_permission(world, odd):
    world.branch(
        {".oddrc": "extends = conf/base.json\n", "conf/base.json": ""},
        {"conf/base.json": "open(1)"},
    )
    told = odd.review(more="loads_code = false\n")
    assert told.code == 0, told.stdout
    assert "not used: conf/base.json" in notes(told)


def test_a_tool_that_the_repository_does_not_configure_needs_no_permission(world, odd):
    world.branch({}, {})
    assert odd.review().code == 0


def test_a_script_of_the_repository_that_is_run_as_a_tool_is_the_bases_and_allowed(world, odd):
    world.branch(
        {"tools/lint.py": "import near\n" + world.mark("base"), "tools/near.py": ""},
        {
            "tools/lint.py": world.mark("head"),
            "tools/near.py": world.mark("head"),
            "tools/re.py": world.mark("head"),
        },
    )
    command = [sys.executable, "tools/lint.py"]
    told = odd.review(command=command)
    assert world.ran() == ""
    assert "would run code" in notes(told)
    odd.review("--yes", command=command)
    assert world.loaded() == {"base"}


def test_a_script_that_only_the_change_has_is_not_run_as_a_tool(world, odd):
    world.branch({}, {"tools/lint.py": world.mark("head")})
    for command in (
        [sys.executable, "tools/lint.py"],
        ["sh", "-c", f"{sys.executable} ./tools/lint.py"],
    ):
        assert odd.review("--yes", command=command).json["report"]["outcome"] == "incomplete"
    assert world.ran() == ""


def test_a_tool_that_is_a_module_of_python_is_not_taken_from_the_tree(world, odd):
    head = {
        path: world.mark("head")
        for path in ("bandit.py", "json.py", "runpy.py", "sitecustomize.py", "argparse.py")
    }
    world.branch({}, head)
    odd.review(command=[sys.executable, "-m", "bandit", "--version"])
    odd.review(command=[sys.executable, "-c", "import json, argparse"])
    assert world.ran() == ""


def test_a_command_that_runs_what_the_repository_says_is_allowed_first(world, odd):
    world.branch({"Makefile": f"lint:\n\techo base > {world.marker}\n"}, {})
    told = odd.review(command=["make", "lint"])
    assert "`make lint` would run code" in notes(told)
    assert world.ran() == ""


@pytest.mark.parametrize("place", ["node_modules/helper", "rules/node_modules/helper", "linked"])
def test_packages_that_the_change_commits_are_not_loaded(eslint, place):
    """A committed node_modules, or a link of that name, would come before the installed one."""
    helper = "require('./rules/one')"
    eslint.branch(
        {
            "eslint.config.js": js(eslint.marker, "base", helper),
            "rules/one.js": "require('helper')",
            "a.js": "",
        },
        {f"{place}/index.js": js(eslint.marker, "head"), "b.js": ""},
    )
    if place == "linked":
        (eslint.repo.root / "rules/node_modules").symlink_to("..")
        eslint.repo.git("mv", "linked", "helper")
    eslint.repo.git("add", "--force", ".", "--", ":!node_modules/.bin")
    eslint.repo.git("commit", "--quiet", "-m", "evil")
    told = eslint.review("--yes", tool="eslint")
    assert eslint.ran() == ""
    assert "carries its own" in notes(told), notes(told)


def test_a_package_of_the_workspace_is_code_under_review_and_not_loaded(eslint):
    eslint.branch(
        {
            "eslint.config.js": js(eslint.marker, "base", "require('@our/rules/strict')"),
            "packages/rules/strict.js": "",
            "a.js": "",
        },
        {"packages/rules/strict.js": js(eslint.marker, "head"), "b.js": ""},
    )
    scope = eslint.repo.root / "node_modules/@our"
    scope.mkdir()
    (scope / "rules").symlink_to("../../packages/rules")
    told = eslint.review("--yes", tool="eslint")
    assert eslint.ran() == ""
    assert "@our/rules in node_modules is a link to the code under review" in notes(told)


def test_rules_that_the_users_settings_name_come_from_the_base(world):
    rule = "id: no-eval\nlanguage: python\nrule: {{pattern: {}}}\nmessage: no\nseverity: error\n"
    world.branch(
        {"rules/own.yml": rule.format("eval($A)")},
        {"rules/own.yml": rule.format("nothing($A)"), "e.py": "eval(x)\n"},
    )
    told = world.review("--set", "analyzers.ast_grep=rules/own.yml", tool="ast-grep")
    assert [item["path"] for item in world.ground.items()] == ["e.py"], told.stdout
    assert "not used: rules/own.yml" in notes(told)


@pytest.mark.parametrize(
    "form", ["--config-file=ci/types.ini", "--config-file ci/types.ini", "--config ci/types.ini"]
)
def test_a_configuration_that_arguments_name_is_followed_like_any_other(world, form, monkeypatch):
    """Its place is in the user's settings; its text, and the plug-in, are the repository's."""
    world.branch(
        {"ci/types.ini": "[mypy]\nplugins = plugin.py\n", "ci/plugin.py": world.plugin("base")},
        {"ci/types.ini": "[mypy]\nplugins = evil.py\n", "ci/evil.py": world.plugin("head")},
    )
    given = ("--set", f"analyzers.args.mypy={','.join(form.split())}")
    told = world.review(*given)
    assert "ci/types.ini: plugins = plugin.py would run code" in notes(told)
    assert world.ran() == ""
    told = world.review(*given, "--yes")
    assert world.loaded() <= {"base"}, told.stdout


def test_a_broken_file_of_other_tools_keeps_mypy_from_nothing(world):
    world.repo.commit({"a.py": WRONG, "mypy.ini": "[mypy]\n", "setup.cfg": "[a]\nx = 1\nx = 2\n"})
    world.review("--all")
    assert [item["path"] for item in world.ground.items()] == ["a.py"]


@pytest.mark.parametrize("how", ["files", "link to a folder", "links to files"])
def test_programs_that_the_branch_commits_are_not_run_under_a_usual_name(world, how):
    """An environment that is committed, or a committed link to a folder of the repository."""
    script = f"#!/bin/sh\necho head >> {world.marker}\n"
    folder = ".venv" if how == "files" else "tools/env"
    world.repo.commit({"x.py": "x = 1\n", "mypy.ini": "[mypy]\n"})
    world.repo.git("switch", "--quiet", "--create", "topic")
    for tool in ("mypy", "python", "eslint", "ruff", "biome", "shellcheck", "pyright", "ty"):
        world.repo.write(f"{folder}/bin/{tool}", script, mode=0o755)
        if how == "links to files":
            (world.repo.root / ".venv/bin").mkdir(parents=True, exist_ok=True)
            (world.repo.root / f".venv/bin/{tool}").symlink_to(f"../../{folder}/bin/{tool}")
    if how == "link to a folder":
        (world.repo.root / ".venv").symlink_to(folder)
    world.repo.commit({"a.py": WRONG, "a.js": "", "a.sh": "", "package.json": "{}"})
    for arguments in (("doctor",), ("run", "--workflow", "review"), ("review",), ("allow",)):
        world.ground(*arguments)
        assert world.ran() == "", arguments


@pytest.mark.parametrize("folder", [".", "bin", "./node_modules/.bin"])
def test_a_folder_of_the_tree_that_is_on_the_path_has_no_programs(world, folder, monkeypatch):
    script = f"#!/bin/sh\necho head >> {world.marker}\n"
    for tool in ("mypy", "git", "shellcheck", "eslint", "env", "sh", "node"):
        world.repo.write(f"{folder}/{tool}", script, mode=0o755)
    world.repo.commit({"a.py": WRONG, "a.sh": "echo $x\n", "mypy.ini": "[mypy]\n"})
    world.ground("run", "--all", "--workflow", "review", PATH=f"{folder}:{os.environ['PATH']}")
    assert world.ran() == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.odd.main]\nload-plugins = ["own"]\n'),
        ("setup.cfg", "[odd:local-plugins]\npaths = ./extra\n"),
        ("tox.ini", "[odd]\nplugins = own\n"),
        ("package.json", '{"oddConfig": {"extends": "./own.js"}}'),
    ],
)
def test_a_table_in_a_file_of_several_tools_is_configuration_that_may_load_code(
    world, odd, name, text
):
    world.branch({name: text, "own.py": ""}, {})
    assert f"{name}, which may name plug-ins, would run code" in notes(odd.review())


def test_a_file_of_several_tools_that_only_mentions_one_asks_for_nothing(world, odd):
    world.branch(
        {"pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["odd"]\n'}, {}
    )
    assert odd.review().code == 0
