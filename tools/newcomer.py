"""Follows the README and the tutorial word for word, as on a machine that has only what the README asks for: a fresh clone, an
empty home, nothing installed. Says where a command prints something else than the page shows.

    python3 tools/newcomer.py
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from follow_docs import ADA, ROOT, Difference, Terminal, parse_page

KEPT = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "PIP_", "UV_", "http", "HTTP", "no_", "NO_")
"""How variables begin that a machine needs to install anything."""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="punchlist-newcomer-") as folder:
        found = follow(Path(folder))
    print(*found, sep="\n\n")
    return 1 if found else 0


def follow(folder: Path) -> list[Difference]:
    clone, here, home = folder / "clone", folder / "here", folder / "home"
    for each in (here, home):
        each.mkdir()
    env = make_environment(home)
    run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], env)
    if not run(["sh", "-c", "command -v pipx || true"], env):
        print("pipx is not here: it is installed for this once", flush=True)
        run([sys.executable, "-m", "venv", str(folder / "pipx")], env)
        run([str(folder / "pipx/bin/pip"), "install", "--quiet", "pipx"], env)
        (home / ".local/bin").mkdir(parents=True)
        (home / ".local/bin/pipx").symlink_to(folder / "pipx/bin/pipx")
    found = []
    for page, start in ((clone / "README.md", clone), (clone / "docs/tutorial.md", here)):
        steps = len(list(parse_page(page.read_text("utf-8"))))
        differences = Terminal(start, dict(env)).follow(page)
        print(f"{page.name}: {steps} steps, {len(differences)} differ", flush=True)
        found += differences
    return found


def make_environment(home: Path) -> dict[str, str]:
    """Return the variables of a new user: pipx puts programs into ~/.local/bin; git knows their name."""
    ours = f"{Path(sys.prefix) / 'bin'}"
    path = [each for each in os.environ["PATH"].split(":") if each != ours]
    kept = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
    people = {f"GIT_{who}_{what}": word for who in ("AUTHOR", "COMMITTER") for what, word in ADA}
    own = {"HOME": str(home), "PATH": ":".join([str(home / ".local/bin"), *path]), "COLUMNS": "160"}
    return kept | people | own


def run(command: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)  # ours
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
