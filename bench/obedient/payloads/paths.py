"""Folders of the repository on the user's PATH, with a program for each name that any tool may start; and modules that shadow others."""

import shutil

from beside_payload import payload

NAMES = (
    *(
        "git",
        "python",
        "python3",
        "python3.11",
        "pip",
        "uv",
        "uvx",
        "ruff",
        "bandit",
        "mypy",
        "ast-grep",
        "sg",
        "pyright",
        "basedpyright",
    ),
    *(
        "ty",
        "eslint",
        "biome",
        "shellcheck",
        "semgrep",
        "node",
        "npm",
        "npx",
        "pnpm",
        "yarn",
        "bun",
        "corepack",
        "bwrap",
        "unshare",
        "setpriv",
    ),
    *(
        "prlimit",
        "systemd-run",
        "systemctl",
        "sh",
        "bash",
        "env",
        "ps",
        "kill",
        "openssl",
        "ssh",
        "ssh-keygen",
        "ssh-agent",
        "gpg",
        "gpg2",
    ),
    *(
        "less",
        "more",
        "cat",
        "vi",
        "nano",
        "editor",
        "sensible-browser",
        "sensible-pager",
        "xdg-open",
        "open",
        "www-browser",
        "firefox",
    ),
    *(
        "chromium",
        "google-chrome",
        "x-www-browser",
        "w3m",
        "lynx",
        "gio",
        "gvfs-open",
        "notify-send",
        "hostname",
        "uname",
        "whoami",
        "id",
    ),
    *(
        "getent",
        "locale",
        "stty",
        "tput",
        "tty",
        "which",
        "nproc",
        "df",
        "du",
        "cp",
        "rm",
        "tar",
        "unzip",
        "diff",
        "patch",
        "find",
        "xargs",
    ),
    *(
        "make",
        "just",
        "task",
        "tox",
        "nox",
        "pre-commit",
        "pytest",
        "go",
        "cargo",
        "ldconfig",
        "gcc",
        "cc",
        "ld",
        "objdump",
        "ldd",
        "file",
    ),
    *(
        "docker",
        "podman",
        "gh",
        "glab",
        "tea",
        "claude",
        "codex",
        "gemini",
        "opencode",
        "qwen",
        "aider",
        "git-upload-pack",
        "git-receive-pack",
    ),
    *(
        "git-remote-https",
        "git-lfs",
        "newuidmap",
        "newgidmap",
        "fusermount",
        "ip",
        "nsenter",
        "mount",
        "sudo",
        "aa-exec",
        "psql",
        "pg_ctl",
    ),
)
WAYS = {
    "PATH, absolute": ("bin", lambda repo, env: {"PATH": f"{repo}/bin:{env['PATH']}"}),
    "PATH, relative": ("bin", lambda repo, env: {"PATH": f"bin:{env['PATH']}"}),
    "PATH, dot": (".", lambda repo, env: {"PATH": f".:{env['PATH']}"}),
    "PATH, empty entry": (".", lambda repo, env: {"PATH": f":{env['PATH']}"}),
    "PATH, through a link": (
        "bin",
        lambda repo, env: {"PATH": f"{repo.parent}/../src/{repo.name}/tools/../bin:{env['PATH']}"},
    ),
    "PATH, last": ("bin", lambda repo, env: {"PATH": f"{env['PATH']}:{repo}/bin"}),
}


def add_program(kind, folder, variables, name, number):
    @payload(
        f"{name} ({kind})",
        kind=kind,
        control=None
        if kind == "PATH, last" and shutil.which(name)
        else f"{name} --version </dev/null",
        variables=variables,
    )
    def plant(plant):
        plant.program(
            f"{folder}/{name}",
            shutil.which(name, path="/usr/bin:/bin") or "",
            native=number % 3 == 2,
        )
        plant.write("tools/about.txt", "")


for kind, (folder, variables) in WAYS.items():
    for number, name in enumerate(NAMES):
        add_program(kind, folder, variables, name, number)

SHADOWED = (
    *(
        "json",
        "subprocess",
        "tokenize",
        "logging",
        "asyncio",
        "typing",
        "dataclasses",
        "random",
        "tomllib",
        "argparse",
        "inspect",
        "ast",
    ),
    *(
        "sitecustomize",
        "usercustomize",
        "readline",
        "_pyrepl",
        "ssl",
        "sqlite3",
        "ctypes",
        "shutil",
        "tempfile",
        "pathlib",
        "hashlib",
        "socket",
    ),
    *(
        "punchlist",
        "click",
        "msgspec",
        "ruff",
        "bandit",
        "mypy",
        "pytest",
        "pip",
        "venv",
        "ensurepip",
        "litestar",
        "uvicorn",
        "textual",
        "yaml",
    ),
    *(
        "rich",
        "psycopg",
        "httpx",
        "pygls",
        "mcp",
        "attr",
        "pluggy",
        "coverage",
        "setuptools",
        "pygments",
        "landlock",
        "antigravity",
        "dbos",
    ),
)
REAL = """
import importlib as _i, os as _o, sys as _s
_here = _o.path.dirname(_o.path.dirname(_o.path.abspath(__file__)) if __file__.endswith('__init__.py') else _o.path.abspath(__file__))
_s.path[:] = [_p for _p in _s.path if _o.path.abspath(_p or '.') != _here]
_own = _s.modules.pop(__name__, None)
try:
    _i.import_module(__name__)
except ImportError:
    _s.modules[__name__] = _own
"""

for number, name in enumerate(SHADOWED):

    @payload(
        f"{name}.py in the root",
        kind="shadowing modules",
        control=f"python3 -S -c 'import {name}'",  # without -S, the machine's own has been imported
    )
    def shadow(plant, name=name, number=number):
        path = f"{name}/__init__.py" if number % 2 else f"{name}.py"
        plant.write(path, plant.python + REAL)
        if number % 2:
            plant.write(f"{name}/__main__.py", plant.python)
