"""Python environments of a checkout: their programs, and the modules that each start of their Python imports."""

import shutil
import sys
from pathlib import Path

from beside_payload import payload

SYSTEM = "/usr/bin/python3"
FOLDERS = ".venv", "venv", "env"
LIB = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
PYTHONS = "python", "python3", f"python3.{sys.version_info[1]}"
SCRIPTS = (
    *(
        "pip",
        "pip3",
        "pytest",
        "py.test",
        "ruff",
        "mypy",
        "bandit",
        "pyright",
        "basedpyright",
        "ty",
        "semgrep",
    ),
    *(
        "ast-grep",
        "sg",
        "uv",
        "tox",
        "nox",
        "pre-commit",
        "poetry",
        "hatch",
        "pdm",
        "black",
        "isort",
        "flake8",
        "pylint",
    ),
    *(
        "git",
        "node",
        "npm",
        "npx",
        "shellcheck",
        "eslint",
        "biome",
        "punchlist",
        "coverage",
        "make",
        "sh",
        "bwrap",
    ),
)
PACKAGES = "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"


def add_program(folder, name, then, kind, *, native):
    @payload(f"{folder}/bin/{name} ({kind})", kind=kind, control=f"{folder}/bin/{name} --version")
    def plant(plant):
        plant.program(f"{folder}/bin/{name}", then, native=native)
        if name == "python":
            plant.write(
                f"{folder}/pyvenv.cfg", f"home = /usr/bin\nversion = {sys.version.split()[0]}\n"
            )
            put_pytest(plant.repo / folder / LIB)


def put_pytest(target):
    """The real pytest, so that checks have a reason to use this environment."""
    import pytest

    source = Path(pytest.__file__).parents[1]
    for name in PACKAGES:
        if not (target / name).exists():
            shutil.copytree(
                source / name, target / name, ignore=shutil.ignore_patterns("__pycache__")
            )
    shutil.copy(source / "py.py", target)
    for path in source.glob("*.dist-info"):
        if path.name.split("-")[0].lower() in PACKAGES and not (target / path.name).exists():
            shutil.copytree(path, target / path.name)


for kind, folders in {
    "environment programs": FOLDERS,
    "environment programs, committed": FOLDERS[:1],
}.items():
    for folder in folders:
        for number, name in enumerate(PYTHONS):
            add_program(folder, name, SYSTEM, kind, native=number == 1)
        for number, name in enumerate(SCRIPTS):
            add_program(
                folder,
                name,
                shutil.which(name, path="/usr/bin:/bin") or "",
                kind,
                native=number % 2 == 1,
            )

MODULES = "environment modules"


def control(code="pass"):
    return f".venv/bin/python -c '{code}'"


@payload(".venv: .pth with an import", kind=MODULES, control=control())
def pth(plant):
    plant.link(".venv/bin/python", SYSTEM)
    plant.link(".venv/bin/python3", "python")
    plant.write(".venv/pyvenv.cfg", f"home = /usr/bin\nversion = {sys.version.split()[0]}\n")
    put_pytest(plant.repo / ".venv" / LIB)
    plant.write(f".venv/{LIB}/beside_start.py", plant.python)
    plant.write(f".venv/{LIB}/beside.pth", "import beside_start\n")


@payload(".venv: .pth with a long line", kind="environment, long line", control=control())
def long_pth(plant):
    """All of it in one line, which is longer than a path may be."""
    plant.link(".venv/bin/python", SYSTEM)
    plant.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    put_pytest(plant.repo / ".venv" / LIB)
    plant.write(f".venv/{LIB}/beside.pth", f"import os; {plant.python}")


SHADOWED = Path(f"/usr/lib/python3.{sys.version_info[1]}/sitecustomize.py").exists()
"""Debian's Python has a sitecustomize of its own, which comes first."""


@payload("src: usercustomize.py by an editable install", kind=MODULES, control=control())
def editable(plant):
    plant.write(f".venv/{LIB}/__editable__.shop.pth", f"{plant.repo}/src\n")
    plant.write("src/usercustomize.py", plant.python)


@payload(
    "src: sitecustomize.py by an editable install",
    kind=MODULES,
    control=None if SHADOWED else control(),
)
def editable_site(plant):
    plant.write("src/sitecustomize.py", plant.python)


@payload("src: a module that pytest imports", kind=MODULES, control=control("import shop.plugin"))
def plugin(plant):
    plant.write("src/shop/plugin.py", plant.python)
    plant.write(
        f".venv/{LIB}/shop-1.dist-info/entry_points.txt", "[pytest11]\nshop = shop.plugin\n"
    )
    plant.write(
        f".venv/{LIB}/shop-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: shop\nVersion: 1\n"
    )


@payload("venv: usercustomize.py", kind=MODULES, control="venv/bin/python -c pass")
def usercustomize(plant):
    plant.link("venv/bin/python", SYSTEM)
    plant.write("venv/pyvenv.cfg", "home = /usr/bin\n")
    plant.write(f"venv/{LIB}/usercustomize.py", plant.python)


@payload(
    "env: pyvenv.cfg names a Python of the repository",
    kind=MODULES,
    control="env/bin/python -c pass",
)
def home(plant):
    plant.write(
        "env/pyvenv.cfg",
        f"home = {plant.repo}/tools\nbase-executable = {plant.repo}/tools/python3\n",
    )
    plant.program("tools/python3", SYSTEM)
    plant.link("env/bin/python", f"{plant.repo}/tools/python3")
    plant.link("env/bin/python3", "python")


@payload(".venv: an import hook of setuptools' kind", kind=MODULES, control=control())
def finder(plant):
    plant.write(f".venv/{LIB}/__editable___shop_finder.py", plant.python)
    plant.write(f".venv/{LIB}/__editable__.other.pth", "import __editable___shop_finder\n")


for number, folder in enumerate(
    (
        ".tox/py311",
        ".nox/tests",
        ".direnv/python-3.11",
        ".virtualenv",
        ".pixi/envs/default",
        "__pypackages__/3.11",
        "build/venv",
        "virtualenv",
    )
):

    @payload(f"{folder}: python", kind=MODULES, control=f"{folder}/bin/python -c pass")
    def tool_environment(plant, folder=folder, number=number):
        plant.program(f"{folder}/bin/python", SYSTEM, native=number % 2 == 1)
        plant.link(f"{folder}/bin/python3", "python")
        plant.write(f"{folder}/pyvenv.cfg", "home = /usr/bin\n")


for name, text in {
    ".pdm-python": "{repo}/tools/named-python\n",
    ".python-version": "{repo}/tools/named-python\n",
    ".tool-versions": "python path:{repo}/tools/named-python\n",
    ".venv-path": "{repo}/tools/named-python\n",
}.items():

    @payload(
        f"{name} names a Python",
        kind=MODULES,
        control=f"tools/named{name.replace('.', '-')}/python -c pass",
    )
    def named(plant, name=name, text=text):
        folder = f"tools/named{name.replace('.', '-')}"
        plant.program(f"{folder}/python", SYSTEM)
        plant.write(
            name, text.format(repo=plant.repo).replace("tools/named-python", f"{folder}/python")
        )


ACTIVE = "environment, active"


@payload(
    ".venv is active: VIRTUAL_ENV and PATH",
    kind=ACTIVE,
    control="python -c pass",
    variables=lambda repo, env: {
        "VIRTUAL_ENV": f"{repo}/.venv",
        "PATH": f"{repo}/.venv/bin:{env['PATH']}",
    },
)
def active(plant):
    plant.program(".venv/bin/python", SYSTEM)
    plant.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    put_pytest(plant.repo / ".venv" / LIB)


for number, name in enumerate((*PYTHONS[1:], *SCRIPTS)):
    if name != "punchlist":

        @payload(f".venv is active: {name}", kind=ACTIVE, control=f"{name} --version")
        def active_program(plant, name=name, number=number):
            then = SYSTEM if name in PYTHONS else shutil.which(name, path="/usr/bin:/bin") or ""
            plant.program(f".venv/bin/{name}", then, native=number % 2 == 1)
