"""Builds wheel and sdist, installs the wheel in clean environments of every Python that is found here, and uses it there.

`make release-check` runs it; `--python PATH` names one that is not found by itself. tests/release uses its parts.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = ROOT / ".venv" / "uv" / "bin" / "uv"
"""The one that `make` installs where the machine has none."""
CART = "import os\n\n\ndef total(prices):\n    return sum(prices)\n"
_OLDEST = (3, 11)
_PLACES = ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
_MINUTES = 10 * 60
_MOST_MEGABYTES, _MOST_PACKAGES = 60, 18
"""What an installation without extras takes at most."""
_NOT_OURS = ("pip", "setuptools", "wheel")
_ENDED_WELL = frozenset({0, 1, 3})
"""Exit codes of a run: clean, findings are left, something was not checked."""


def run(
    *command: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    ends: frozenset[int] = frozenset({0}),
) -> str:
    """Run a command to its good end, one of these exit codes, and return what it printed."""
    done = subprocess.run(
        list(map(str, command)),
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=_MINUTES,
        check=False,
    )
    if done.returncode not in ends:
        line = " ".join(map(str, command))
        raise SystemExit(f"{line}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(source: Path, folder: Path, *kinds: str) -> dict[str, Path]:
    """Build distributions from a source folder; return them by kind ("wheel", "sdist")."""
    wanted = [word for kind in kinds for word in ("--target", kind)]
    run(sys.executable, "-m", "hatchling", "build", *wanted, "--directory", folder, cwd=source)
    suffixes = {"wheel": "*.whl", "sdist": "*.tar.gz"}
    return {kind: next(folder.glob(suffixes[kind])) for kind in kinds}


def read_wheel(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel by name; RECORD, which lists them, is left out."""
    with zipfile.ZipFile(wheel) as archive:
        names = (name for name in archive.namelist() if not name.endswith("/RECORD"))
        return {name: archive.read(name) for name in names}


def unpack_sdist(sdist: Path, folder: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.iterdir())


def find_pythons() -> list[Path]:
    """Return one Python of each version from the oldest on: this one, of pyenv, uv and the system."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    uv = Path.home() / ".local/share/uv/python"
    found = [Path(sys.executable), *pyenv.glob("3.*/bin/python3"), *uv.glob("*/bin/python3")]
    for place in (*_PLACES, *os.environ.get("PATH", "").split(os.pathsep)):
        found += sorted(Path(place).glob("python3.[1-9][0-9]")) if "pyenv" not in place else []
    versions: dict[tuple[int, int], Path] = {}
    for each in found:
        version = _read_version(each)
        if version and version >= _OLDEST:
            versions.setdefault(version, each)
    return [versions[version] for version in sorted(versions)]


def _read_version(python: Path) -> tuple[int, int] | None:
    said = subprocess.run([python, "-VV"], capture_output=True, text=True, check=False)
    found = re.match(r"Python (\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found and said.returncode == 0 else None


def make_environment(folder: Path, python: Path, wheel: str, *options: str) -> Path:
    """Make a virtual environment with the wheel and what it needs; return its `punchlist`. It is made
    by `uv pip install` with these options, or by pip where there is no uv, or uv cannot have what it
    needs.
    """
    uv = shutil.which("uv") or (str(UV) if UV.exists() else "")
    inside = folder / "bin" / "python"
    if not uv or not _install_with_uv(uv, folder, python, wheel, options):
        run(python, "-m", "venv", "--clear", folder)
        run(inside, "-m", "pip", "install", "--quiet", wheel)
    return folder / "bin" / "punchlist"


def _install_with_uv(
    uv: str, folder: Path, python: Path, wheel: str, options: tuple[str, ...]
) -> bool:
    """Return whether uv made the environment."""
    inside = folder / "bin" / "python"
    try:
        run(uv, "venv", "--quiet", "--no-project", "--python", python, folder)
        run(uv, "pip", "install", "--quiet", *options, "--python", inside, wheel)
    except SystemExit as error:
        print(f"uv: {error}", file=sys.stderr)
        return False
    return True


def use(punchlist: Path, folder: Path, *, demo: bool = True) -> Iterator[str]:
    """Use an installed punchlist as a user does, in a folder of its own; yield what was done."""
    folder.mkdir()
    env = _make_env(folder, punchlist)
    yield run(punchlist, "--version", env=env, cwd=folder).strip()
    run(punchlist, "doctor", env=env, cwd=folder, ends=_ENDED_WELL)
    yield "doctor"
    repository = _make_repository(folder / "cart", env)
    if "F401" not in run(punchlist, "review", "--all", env=env, cwd=repository, ends=_ENDED_WELL):
        raise SystemExit("review does not find the unused import")
    yield "review"
    run(punchlist, "run", "--all", "--no-checks", env=env, cwd=repository, ends=_ENDED_WELL)
    run(punchlist, "apply", "last", env=env, cwd=repository)
    if "import os" in (repository / "cart.py").read_text():
        raise SystemExit("the fix was not applied")
    yield "fix"
    _ask_server(punchlist, env, repository)
    yield "serve"
    if demo:
        run(punchlist, "demo", env=env, cwd=folder, ends=_ENDED_WELL)
        yield "demo"


def _make_env(folder: Path, punchlist: Path) -> dict[str, str]:
    """Return an environment that knows nothing of this checkout and of the user."""
    who = {
        f"GIT_{who}_{what}": "ada@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    path = f"{punchlist.parent}{os.pathsep}{os.environ['PATH']}"
    private = {"HOME": str(folder), "PUNCHLIST_HOME": str(folder / "state")}
    return {"PATH": path, "GIT_CONFIG_GLOBAL": "/dev/null", **private, **who}


def _make_repository(folder: Path, env: Mapping[str, str]) -> Path:
    folder.mkdir()
    (folder / "cart.py").write_text(CART)
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "a cart"]):
        run("git", *words, env=env, cwd=folder)
    return folder


def _ask_server(punchlist: Path, env: Mapping[str, str], folder: Path) -> None:
    """Start the server, ask it for its runs, and stop it."""
    command = [str(punchlist), "serve", "--port", "0"]
    with subprocess.Popen(
        command, env=dict(env), cwd=folder, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            said = ""
            while "Ctrl-C" not in said:
                line = server.stderr.readline() if server.stderr else ""
                if not line:
                    raise SystemExit(f"the server has ended:\n{said}")
                said += line
            address = re.search(r"http://\S+", said)
            token = re.search(r"\(admin\): (\S+)", said)
            if not address or not token:
                raise SystemExit(f"the server says neither where it is nor its token:\n{said}")
            headers = {"Authorization": f"Bearer {token[1]}"}
            asked = urllib.request.Request(f"{address[0].rstrip('/')}/api/runs", headers=headers)
            with urllib.request.urlopen(asked, timeout=60) as answer:
                if answer.status != 200 or b"proven" not in answer.read():
                    raise SystemExit("the server does not list the run")
        finally:
            server.terminate()
            server.wait(60)


def use_pipx(wheel: Path, folder: Path) -> str:
    """Install the wheel with pipx and ask it for its version."""
    env = {**os.environ, "PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin")}
    run(sys.executable, "-m", "pipx", "install", "--quiet", wheel, env=env)
    return run(folder / "bin" / "punchlist", "--version", env=env).strip()


def weigh(environment: Path) -> str:
    """Say how much of the disk an environment takes, and how many packages, without pip and what
    comes with it. Raise SystemExit if it is more than users were told.
    """
    (packages,) = environment.glob("lib/python*/site-packages")
    names = sorted(each.name.partition("-")[0].lower() for each in packages.glob("*.dist-info"))
    names = [name for name in names if name not in _NOT_OURS]
    skipped = [packages / each for each in (*_NOT_OURS, "pkg_resources", "_distutils_hack")]
    files = (each for each in environment.rglob("*") if each.is_file() and not each.is_symlink())
    ours = (each for each in files if not any(each.is_relative_to(other) for other in skipped))
    megabytes = sum(each.stat().st_blocks * 512 for each in ours) / 1e6
    told = f"{megabytes:.0f} MB, {len(names)} packages: {', '.join(names)}"
    if megabytes > _MOST_MEGABYTES or len(names) > _MOST_PACKAGES:
        raise SystemExit(f"more than {_MOST_MEGABYTES} MB or {_MOST_PACKAGES} packages: {told}")
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", type=Path, default=[], help="one more Python")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="punchlist-release-") as name:
        folder = Path(name)
        built = build(ROOT, folder / "dist", "wheel", "sdist")
        print(run(sys.executable, "-m", "twine", "check", "--strict", *built.values()).strip())
        source = unpack_sdist(built["sdist"], folder / "source")
        again = build(source, folder / "again", "wheel")["wheel"]
        if read_wheel(again) != read_wheel(built["wheel"]):
            raise SystemExit("the sdist builds another wheel")
        print("the sdist builds the same wheel")
        print(f"pipx: {use_pipx(built['wheel'], folder / 'pipx')}")
        print(f"installed: {weigh(folder / 'pipx' / 'pipx' / 'venvs' / 'punchlist')}")
        for number, python in enumerate([*find_pythons(), *chosen.python]):
            place = folder / f"python-{number}"
            punchlist = make_environment(place, python, f"{built['wheel']}[all]")
            version = run(place / "bin" / "python", "-V").strip()
            print(f"{version}: {', '.join(use(punchlist, folder / f'use-{number}'))}", flush=True)


if __name__ == "__main__":
    main()
