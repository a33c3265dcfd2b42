"""Adopt a repository with 10,000 findings, and review a branch with one new defect; beside `ruff
check`. Prints a table; `python bench/adopt.py [FINDINGS]`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FUNCTION = """\


def work_{0}(value):
    unused_{0} = value + {0}
    if value == None:
        return 1
    try:
        return value.run()
    except:
        return None
"""
MODULE = "import json\nimport os\nimport sys\n" + "".join(FUNCTION.format(n) for n in range(4))
"""Fifteen findings: F401, F841, E711 and E722."""
IN_EACH = 15
OTHER_USER = 65534


def build_repository(root: Path, findings: int) -> None:
    for number in range(-(-findings // IN_EACH)):
        module = root / f"package_{number % 40}" / f"module_{number}.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(MODULE)
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root, "everything")


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True)


def commit(root: Path, message: str) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", message)


def measure(command: list[str], root: Path, home: Path, user: int | None = None) -> tuple[str, str]:
    """Run the command; return its output, and the seconds it took, beside those of processors."""
    env = {**os.environ, "HOME": str(home), "PUNCHLIST_HOME": str(home / "state")}
    before, started = os.times(), time.perf_counter()
    ran = subprocess.run(
        command, cwd=root, env=env, user=user, capture_output=True, check=False, text=True
    )
    after, took = os.times(), time.perf_counter() - started
    assert ran.returncode in (0, 1), ran.stderr
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return ran.stdout, f"{took:6.1f} s, {cpu:5.1f} s of processors"


def report(output: str) -> str:
    said = json.loads(output)["report"]
    new = [f"{each['path']}:{each['line']}" for each in said["items"] if each["in_scope"]]
    return f"{len(new)} reported ({', '.join(new[:3])}), {said['counts']['left_out']:,} left out"


def main(findings: int) -> None:
    punchlist = [sys.executable, "-m", "punchlist"]
    ruff = [str(Path(sys.executable).with_name("ruff")), "check", "--isolated", "--no-cache", "-q"]
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        base.chmod(0o755)
        root, home, other = base / "legacy", base / "home", base / "other"
        build_repository(root, findings)
        home.mkdir()
        _, took = measure([*ruff, "--select=F,E7", "."], root, home)
        print(f"ruff check                      {took}")
        output, took = measure([*punchlist, "baseline", "--quiet"], root, home)
        print(f"punchlist baseline              {took}: {output.splitlines()[0]}")
        commit(root, "baseline")
        git(root, "checkout", "--quiet", "-b", "feature")
        changed = root / "package_0" / "module_0.py"
        changed.write_text(MODULE + FUNCTION.format(9).replace("unused_9 = value + 9", "pass"))
        commit(root, "two new defects")
        git(root, "checkout", "--quiet", "main")
        git(base, "clone", "--quiet", str(root), str(other))
        for place in (root, other):
            git(place, "checkout", "--quiet", "feature")
        for name, options in (("review", []), ("review --all", ["--all"])):
            output, took = measure([*punchlist, "review", "--json", *options], root, home)
            print(f"punchlist {name:<22}{took}: {report(output)}")
        theirs = base / "theirs"
        theirs.mkdir()
        user = find_other_user()
        if user is not None:
            for place in (theirs, other, *other.rglob("*")):
                os.chown(place, user, user, follow_symlinks=False)
        output, took = measure([*punchlist, "review", "--json"], other, theirs, user)
        who = f"uid {user}" if user else "another home"
        print(f"review, second clone, {who:<10}{took}: {report(output)}")


def find_other_user() -> int | None:
    """Return the other user, if root runs this and that user can run the same Python."""
    try:
        subprocess.run([sys.executable, "-c", ""], user=OTHER_USER, check=True)
    except (PermissionError, subprocess.CalledProcessError):
        return None
    return OTHER_USER


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
