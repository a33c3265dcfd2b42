"""Configuration of analyzers that loads code or names programs."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from beside_payload import payload

KIND = "analyzers' configuration"


@payload("mypy: plugins", kind=KIND, control="mypy --config-file mypy.ini src/shop/prices.py")
def mypy_plugin(plant):
    plant.write(
        "mypy.ini",
        "[mypy]\nplugins = tools/mypy_plugin.py, tools.second_plugin\nmypy_path = tools\n",
    )
    plant.write(
        "tools/mypy_plugin.py",
        f"{plant.python}\ndef plugin(version):\n    from mypy.plugin import Plugin\n    return Plugin\n",
    )
    plant.write("tools/__init__.py", "")
    plant.write(
        "tools/second_plugin.py",
        "def plugin(version):\n    from mypy.plugin import Plugin\n    return Plugin\n",
    )


@payload(
    "mypy: python_executable", kind=KIND, control="mypy --config-file setup.cfg src/shop/prices.py"
)
def mypy_python(plant):
    plant.program("tools/mypy-python", "/usr/bin/python3")
    plant.write("setup.cfg", f"[mypy]\npython_executable = {plant.repo}/tools/mypy-python\n\n")
    plant.write(".mypy.ini", f"[mypy]\npython_executable = {plant.repo}/tools/mypy-python\n")


@payload(
    "pyright: venvPath and pythonPath", kind=KIND, control="tools/venvs/evil/bin/python -c pass"
)
def pyright(plant):
    plant.write(
        "pyrightconfig.json",
        '{"venvPath": "tools/venvs", "venv": "evil", "pythonPath": "tools/venvs/evil/bin/python"}\n',
    )
    plant.program("tools/venvs/evil/bin/python", "/usr/bin/python3")
    plant.link("tools/venvs/evil/bin/python3", "python")
    plant.write("tools/venvs/evil/pyvenv.cfg", "home = /usr/bin\n")


for name in (
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.cjs",
    ".eslintrc.js",
    ".eslintrc.cjs",
    "prettier.config.js",
    "jest.config.js",
    "babel.config.js",
    "biome.grit.js",
):

    @payload(f"{name}", kind=KIND, control=f"node {name}")
    def javascript(plant, name=name):
        plant.write(
            name,
            plant.ecmascript
            if name.endswith(".mjs")
            else f"{plant.javascript}module.exports = [];\n",
        )


@payload(
    "ast-grep: customLanguages with a library",
    kind=KIND,
    control="ast-grep --custom-languages allow scan src; ast-grep scan --custom-languages allow src"
    if shutil.which("cc")
    else None,
)
def ast_grep(plant):
    plant.write(
        "sgconfig.yml",
        "ruleDirs: [rules]\ncustomLanguages:\n  evil:\n    libraryPath: tools/evil.so\n    extensions: [evil, py]\n    expandoChar: _\n",
    )
    plant.write("rules/one.yml", "id: one\nlanguage: evil\nrule:\n  pattern: a\n")
    plant.write("tools/evil.so", shared_library(plant.shell), 0o755)


def shared_library(command):
    """A library that runs the command when it is loaded; empty without a compiler."""
    if not shutil.which("cc"):
        return b""
    text = command.replace("\\", "\\\\").replace('"', '\\"')
    source = f'#include <stdlib.h>\n__attribute__((constructor)) static void go(void) {{ (void)!system("{text}"); }}\nvoid *tree_sitter_evil(void) {{ return 0; }}\n'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "evil.so")
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path],
            input=source.encode(),
            check=True,
        )
        return path.read_bytes()


@payload("pylint: init-hook", kind=KIND)
def pylint(plant):
    plant.write(
        ".pylintrc", f"[MAIN]\ninit-hook={plant.python.strip()}\nload-plugins=tools.mypy_plugin\n"
    )


@payload("flake8: local plugins", kind=KIND)
def flake8(plant):
    plant.write(
        ".flake8",
        "[flake8:local-plugins]\nextension =\n    EVL = tools.flake_plugin:Check\npaths = .\n",
    )
    plant.write("tools/flake_plugin.py", f"{plant.python}\nclass Check:\n    pass\n")


@payload("pytest: addopts -p", kind=KIND, control="python3 -c 'import tools.pytest_plugin'")
def pytest_plugin(plant):
    plant.write("pytest.ini", "[pytest]\naddopts = -p tools.pytest_plugin\npythonpath = .\n")
    plant.write("tools/pytest_plugin.py", plant.python)


@payload("coverage: plugins", kind=KIND, control="python3 -c 'import tools.coverage_plugin'")
def coverage(plant):
    plant.write(".coveragerc", "[run]\nplugins = tools.coverage_plugin\n[paths]\nsource = .\n")
    plant.write(
        "tools/coverage_plugin.py", f"{plant.python}\ndef coverage_init(reg, options):\n    pass\n"
    )


@payload("conftest.py", kind=KIND, control="pytest -q -c /dev/null --rootdir . tests")
def conftest(plant):
    plant.write("conftest.py", plant.python)
    plant.write("tests/conftest.py", plant.python)


@payload("rubocop, phpstan, golangci, semgrep", kind=KIND)
def others(plant):
    plant.write(".rubocop.yml", "require:\n  - ./tools/evil.rb\n")
    plant.write("tools/evil.rb", f"system({plant.shell!r})\n")
    plant.write("phpstan.neon", "parameters:\n  bootstrapFiles: [tools/evil.php]\n")
    plant.write(
        ".golangci.yml", "linters-settings:\n  custom:\n    evil:\n      path: tools/evil.so\n"
    )
    plant.write(".semgrep.yml", "rules: []\n")
    plant.write(".shellcheckrc", "external-sources=true\nsource-path=/\n")
    plant.write(".bandit", "[bandit]\nplugins = tools.mypy_plugin\nini_path = tools\n")
    plant.write("ruff.toml", 'extend = "tools/ruff.toml"\ncache-dir = "tools/cache"\n')
    plant.write("tools/ruff.toml", "")
    plant.write(".clang-tidy", "Checks: '*'\n")
    plant.write(
        "biome.json", '{"plugins": ["./tools/evil.grit"], "extends": ["./tools/biome-base.json"]}\n'
    )
    plant.write("tools/evil.grit", "language js\n`a`\n")
    plant.write("ty.toml", '[environment]\npython = "./tools/venvs/evil"\n')
