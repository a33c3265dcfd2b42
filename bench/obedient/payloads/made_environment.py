"""An environment that `punchlist setup` made from a hostile branch: its build backend, and what its wheel brings along."""

import sys

from beside_payload import payload

KIND = "environment made by setup"
LIB = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
BACKEND = '''
import glob, os, sys, zipfile
{mark}
FILES = {files!r}


def plant():
    """Write into the environment itself, wherever it can be found."""
    for prefix in (os.environ.get("VIRTUAL_ENV", ""), sys.prefix, os.path.dirname(os.path.dirname(sys.executable))):
        if not os.path.exists(os.path.join(prefix, "pyvenv.cfg")):
            continue  # an environment, and never the machine's own Python
        for site in glob.glob(os.path.join(prefix, "lib/python3*/site-packages")):
            for name, text in FILES["written"].items():
                try:
                    with open(os.path.join(site, name), "w") as file:
                        file.write(text)
                except OSError:
                    pass
            for name, text in FILES["programs"].items():
                try:
                    path = os.path.join(prefix, "bin", name)
                    if os.path.lexists(path):
                        os.unlink(path)
                    with open(path, "w") as file:
                        file.write(text)
                    os.chmod(path, 0o755)
                except OSError:
                    pass


def wheel(folder):
    plant()
    info, data = "shop-1.dist-info/", "shop-1.data/scripts/"
    files = {{**FILES["brought"], info + "METADATA": "Metadata-Version: 2.1\\nName: shop\\nVersion: 1\\n",
             info + "WHEEL": "Wheel-Version: 1.0\\nGenerator: b\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"}}
    files |= {{data + name: text for name, text in FILES["scripts"].items()}}
    files[info + "RECORD"] = "".join(path + ",,\\n" for path in [*files, info + "RECORD"])
    with zipfile.ZipFile(os.path.join(folder, "shop-1-py3-none-any.whl"), "w") as file:
        for path, content in files.items():
            file.writestr(path, content)
    return "shop-1-py3-none-any.whl"


def build_wheel(folder, *_):
    return wheel(folder)


def build_editable(folder, *_):
    return wheel(folder)


def get_requires_for_build_wheel(*_):
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
'''
INSTALL = (
    "python3 -m venv --without-pip made; PYTHONPATH=tools python3 -c 'import backend; backend.wheel(\".\")'; "
    f"python3 -m zipfile -e shop-1-py3-none-any.whl made/{LIB}; mv made/{LIB}/shop-1.data/scripts/* made/bin/; chmod +x made/bin/*; "
)


@payload("backend: while it builds", kind=KIND, control="cd tools && python3 -c 'import backend'")
def backend(plant):
    own, files = plant.name, {"written": {}, "programs": {}, "brought": {}, "scripts": {}}
    for name, kind, path in WAYS:
        plant.name = name
        files[kind][path] = (
            f"import os; {plant.python}"
            if path.endswith(".pth")
            else plant.python
            if path.endswith(".py")
            else plant.script("/usr/bin/python3" if "python" in path else "")
        )
    plant.name = own
    plant.write("tools/backend.py", BACKEND.format(mark=plant.python, files=files))
    (plant.repo / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["tools"]\n[project]\nname = "shop"\nversion = "1"\n'
        "[project.optional-dependencies]\ntest = []\n"
    )
    plant.write(
        "tests/test_more.py",
        "import unittest\n\n\nclass TestMore(unittest.TestCase):\n    def test_more(self):\n        self.assertTrue(True)\n",
    )
    (plant.repo / "tests/test_prices.py").unlink()


WAYS = (
    ("the wheel brings a .pth", "brought", "brought.pth"),
    ("the wheel brings usercustomize.py", "brought", "usercustomize.py"),
    ("the wheel brings a pytest", "brought", "pytest.py"),
    ("the wheel brings a mypy", "brought", "mypy.py"),
    ("the wheel brings a script ruff", "scripts", "ruff"),
    ("the wheel brings a script mypy", "scripts", "mypy"),
    ("the wheel brings a script bandit", "scripts", "bandit"),
    ("the backend writes a .pth", "written", "written.pth"),
    ("the backend writes sitecustomize.py", "written", "sitecustomize.py"),
    ("the backend replaces pip", "programs", "pip"),
    ("the backend replaces python3", "programs", "python3"),
    ("the backend replaces pytest", "programs", "pytest"),
)
NAMED = {"usercustomize.py": "usercustomize", "pytest.py": "pytest", "mypy.py": "mypy"}
PLANTED = "python3 -m venv --without-pip made; VIRTUAL_ENV=$PWD/made PYTHONPATH=tools python3 -c 'import backend; backend.plant()'; "


def control_of(kind, path):
    """The plain command that shows that this part is alive."""
    before = INSTALL if kind in ("brought", "scripts") else PLANTED
    if path.endswith(".pth"):
        return f"{before} made/bin/python -c pass"
    if path == "sitecustomize.py":
        return f"{before} made/bin/python made/{LIB}/sitecustomize.py"
    return (
        f"{before} made/bin/python -c 'import {NAMED[path]}'"
        if path in NAMED
        else f"{before} made/bin/{path} --version"
    )


for name, kind, path in WAYS:

    @payload(name, kind=KIND, control=control_of(kind, path))
    def part(plant):
        """Written by the backend."""
