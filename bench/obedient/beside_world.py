"""The ground of the bench beside the sandbox: a user's home with a canary, honest tools, a hostile repository, and a watcher for marks."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import msgspec
from beside_payload import ALL, IGNORED, Planter
from commands import hide_bubblewrap
from listeners import Listeners
from world import ROOT, as_user, choose_ground, find_python, git

SKELETON = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["src"]\n',
    "src/shop/__init__.py": "",
    "src/shop/prices.py": '"""Prices."""\n\n\ndef double(value):\n    return value + value\n',
    "src/web/app.js": "export const a = 1;\n",
    "tests/test_prices.py": "from shop.prices import double\n\n\ndef test_double():\n    assert double(2) == 4\n",
    "build.sh": "#!/bin/sh\necho $1\n",
}
CHANGE = {
    "src/shop/prices.py": '"""Prices."""\n\nimport os\nimport json\n\n\ndef double(value: int) -> int:\n    return value + value\n\n\n'
    'def total(text: str) -> int:\n    if text == None:\n        return ""\n    return eval(text)\n',
    "src/web/app.js": "export const a = 1;\nvar unused = eval('1');\n",
    "build.sh": "#!/bin/sh\nrm -rf $1/\n",
}
ANALYZERS = (
    *(
        "bandit*",
        "stevedore*",
        "yaml",
        "_yaml",
        "rich",
        "pygments",
        "markdown_it",
        "mdurl",
        "pytest",
        "_pytest",
        "pytest-*",
    ),
    *(
        "pluggy*",
        "iniconfig*",
        "packaging",
        "mypy",
        "mypy-*",
        "mypyc",
        "*__mypyc*.so",
        "librt*",
        "ast_serialize*",
        "pathspec",
    ),
    *("mypy_extensions*", "typing_extensions*"),
)
"""Packages that a sandbox must show: copies, because a link to another folder leads out of it."""
PYTHON_TOOLS = {
    "bandit": "bandit.cli.main:main",
    "mypy": "mypy.__main__:console_entry",
    "pytest": "pytest:console_main",
}
SETTINGS = """
[analyzers]
enabled = ["ruff", "bandit", "mypy", "ast-grep", "pyright", "basedpyright", "ty", "eslint", "biome", "shellcheck", "semgrep"]

[sandbox]
read = {read}

[agents]
use = ["honest"]
retries = 0

[agent.honest]
kind = "command"
command = [{python}, {agent}]
"""
AGENT = """import json, os, subprocess, sys
prompt = sys.stdin.read()
subprocess.run(["git", "status"], capture_output=True)
if os.path.exists("tools/obey.py"):  # as an agent does that is told to
    subprocess.run([sys.executable, "tools/obey.py"], capture_output=True)
role = os.environ.get("PUNCHLIST_ROLE", "")
print(json.dumps({"findings": []} if role not in ("fixer", "challenger") else {}))
"""


class Ground:
    """A made-up user with honest tools; each repository in it is hostile."""

    def __init__(self, uid, *, bubblewrap=True, source=ROOT / "src"):
        self.uid, self.bubblewrap, self.source = uid, bubblewrap, source
        self.pid, self._numbers = os.getpid(), count()
        self.python = find_python(uid)
        self.root = choose_ground() / f"punchlist-beside-{secrets.token_hex(4)}"
        self.sign = f"mark-of-{self.root.name}"
        """In the command line of each mark, and of none of another ground's."""
        self.home, self.drop = self.root / "home", self.root / "drop"
        self.canary = self.home / ".ssh/id_ed25519"
        self.token = f"CANARY{secrets.token_hex(8)}"
        for folder in (self.home / "src", self.drop, self.canary.parent, self.root / "tools/bin"):
            folder.mkdir(parents=True)
        self.canary.write_text(self.token)
        self.listeners = Listeners({"unix": self.root}, self.root.name)
        self.addresses = self.listeners.addresses
        self._make_tools()
        self._make_home()
        self.give_away(self.root)

    def _make_tools(self):
        """A Python with punchlist, and analyzers, as a user installs them apart from any project."""
        subprocess.run([self.python, "-m", "venv", "--without-pip", self.root / "tool"], check=True)
        packages = next((self.root / "tool/lib").glob("python*/site-packages"))
        there = Path(msgspec.__file__).parents[1]
        (packages / "punchlist.pth").write_text(f"{self.source}\n{there}\n")
        for name in ANALYZERS:
            for path in there.glob(name):
                copy = shutil.copytree if path.is_dir() else shutil.copy
                copy(path, packages / path.name)
        scripts = {"punchlist": _entry_point(there), **PYTHON_TOOLS}
        for name, entry in scripts.items():
            module, _, function = entry.partition(":")
            text = f"#!{self.root}/tool/bin/python\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
            _put(self.root / "tool/bin" / name, text, 0o755)
        for name in ("ruff", "ast-grep"):
            if (path := Path(sys.executable).parent / name).exists():
                shutil.copy(path, self.root / "tool/bin" / name)
        for name in (*scripts, "ruff", "ast-grep"):
            (self.root / "tools/bin" / name).symlink_to(self.root / "tool/bin" / name)

    def _make_home(self):
        agent = self.root / "agent.py"
        _put(agent, AGENT)
        read = [str(self.source), str(Path(msgspec.__file__).parents[1])]
        text = SETTINGS.format(
            python=json.dumps(self.python), agent=json.dumps(str(agent)), read=json.dumps(read)
        )
        _put(self.home / ".config/punchlist/settings.toml", text)
        finding = {
            "title": "double() is slow",
            "description": "It adds.",
            "file_path": "src/shop/prices.py",
            "line_start": 8,
            "severity": "major",
        }
        _put(self.home / "findings.json", json.dumps({"findings": [finding]}))
        _put(
            self.home / ".config/pip/pip.conf",
            "[global]\nretries = 0\nindex-url = http://127.0.0.1:9/\n",
        )
        _put(self.home / ".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n")

    def give_away(self, folder):
        if self.uid != os.getuid():
            for place, folders, names in os.walk(folder):
                for name in (".", *folders, *names):
                    os.chown(os.path.join(place, name), self.uid, self.uid, follow_symlinks=False)

    @property
    def environment(self):
        programs = os.defpath if self.bubblewrap else str(hide_bubblewrap(self))
        return {
            "HOME": str(self.home),
            "PATH": f"{self.root / 'tools/bin'}:{programs}",
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def make(self, kinds, *, label="shop", only=None):
        """A repository with all payloads of these kinds, or with one and those that others need."""
        repo = self.home / "src" / f"{label}-{next(self._numbers)}"
        repo.mkdir(parents=True)
        planter = Planter(self, repo)
        git(repo, "init", "-q", "-b", "main")
        ignored = () if "committed" in kinds[0] else IGNORED
        ignore = "".join(f"/{each}\n" for each in ignored)
        for path, text in {**SKELETON, ".gitignore": ignore}.items():
            planter.write(path, text)
        for each in ALL.values():
            if each.kind in kinds and (only in (None, each) or not each.control):
                planter.name = each.name
                each.plant(planter)
        _commit(repo, "Begin")
        git(repo, "checkout", "-q", "-b", "feature")
        for path, text in CHANGE.items():
            (repo / path).write_text(text)
        planter.write("src/shop/staged.py", "import sys\n")
        _commit(repo, "Change the prices")
        for act in planter.after:
            act(repo)
        _stage(repo)
        _put(repo.parent / f"{repo.name}.event.json", json.dumps(_push_event(repo)))
        planter.finish()
        _touch(repo)
        self.give_away(repo)
        return repo

    def variables(self, kinds, repo):
        """The user's environment in a repository of these kinds."""
        env = self.environment
        for each in ALL.values():
            if (
                each.kind in kinds
                and each.variables
                and not set(each.variables(repo, env)["PATH"].split(":"))
                <= set(env["PATH"].split(":"))
            ):
                env |= each.variables(repo, env)
        return env

    def command(self, words):
        """As this user; the program that changes the user is not looked for on the hostile PATH."""
        first = as_user(self.uid)
        return [*(shutil.which(word) if word == "setpriv" else word for word in first), *words]

    def close(self):
        self.listeners.close()
        shutil.rmtree(self.root, ignore_errors=True)


class Watcher:
    """Collects marks: files and calls that came out, and the command lines of those inside."""

    def __init__(self, ground):
        self.ground, self.label = ground, ""
        self.marks = {}
        """By id: the mark, with the command that ran when it came."""
        self._young, self._old = {}, set()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self):
        self._end.set()
        self._thread.join()

    def take(self, label):
        """Marks since the last call count for the label."""
        self._collect()
        fresh = [mark for mark in self.marks.values() if "command" not in mark]
        for mark in fresh:
            mark["command"] = label
        return fresh

    def _watch(self):
        while not self._end.wait(0.03):
            self._look()

    def _look(self):
        now = time.monotonic()
        pids = {name for name in os.listdir("/proc") if name.isdigit()}
        self._old &= pids
        self._young = {pid: since for pid, since in self._young.items() if pid in pids}
        for pid in pids - self._old:
            since = self._young.setdefault(pid, now)
            with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read()
                if self.ground.sign.encode() in line:
                    self._keep(line.split(b"\0")[4], pid)
                    since = 0
            if now - since > 2:
                self._old.add(pid)
                self._young.pop(pid, None)

    def _keep(self, told, pid=""):
        with suppress(ValueError):
            mark = json.loads(told)
            kept = self.marks.setdefault(mark["id"], mark)
            kept |= {name: value for name, value in mark.items() if value}
            if pid and not kept["parents"]:
                kept["parents"] = _parents(pid, self.ground.pid)

    def _collect(self):
        for path in self.ground.drop.glob("*.json"):
            self._keep(path.read_bytes())
            self.marks[path.stem]["write"] = True
            path.unlink()
        for piece in self.ground.listeners.heard.splitlines():
            self._keep(piece)
            with suppress(ValueError, KeyError):
                self.marks[json.loads(piece)["id"]]["called"] = True


def is_outside(mark, token):
    return mark.get("read") == token or any(
        mark.get(each) for each in ("write", "called", "tcp", "unix")
    )


def _parents(pid, top):
    lines = []
    with suppress(OSError, ValueError):
        while int(pid) not in (0, 1, top) and len(lines) < 12:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            lines.append(line.decode("utf-8", "replace")[:160])
            pid = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    return lines[1:]


def _entry_point(packages):
    text = next(packages.glob("punchlist-*.dist-info/entry_points.txt")).read_text()
    return next(
        line.partition("=")[2].strip() for line in text.splitlines() if line.startswith("punchlist")
    )


def _put(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _touch(repo):
    """Make git look into the files again, by its filters."""
    for path in (repo / "src").rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (1, 1))


def commit_as_user(repo, home):
    """A commit of the user's own on the checked-out branch, made with a clean repository beside: the hostile one would heed it."""
    own = repo / ".git"
    if not (own / "HEAD").exists():
        return
    ref = (own / "HEAD").read_text().partition(" ")[2].strip()
    packed = (own / "packed-refs").read_text() if (own / "packed-refs").exists() else ""
    there = (own / ref).exists()
    tip = (
        (own / ref).read_text().strip()
        if there
        else next(line.split()[0] for line in packed.splitlines() if line.endswith(ref))
    )
    clean = home / f".clean-{secrets.token_hex(4)}"
    git(home, "init", "-q", "--bare", str(clean))
    (repo / "src/shop/prices.py").open("a").write("\n\nLAST = 1\n")
    env = {
        "GIT_DIR": str(clean),
        "GIT_WORK_TREE": str(repo),
        "GIT_OBJECT_DIRECTORY": str(own / "objects"),
        "GIT_INDEX_FILE": str(own / "index"),
    }

    def plumb(*words):
        env_all = {
            **os.environ,
            **env,
            "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
        }
        words = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words]
        return subprocess.run(
            words, cwd=repo, env=env_all, check=True, capture_output=True, text=True
        ).stdout.strip()

    plumb("update-index", "src/shop/prices.py")
    made = plumb("commit-tree", plumb("write-tree", "--missing-ok"), "-p", tip, "-m", "Add one")
    (own / ref).parent.mkdir(parents=True, exist_ok=True)
    (own / ref).write_text(f"{made}\n")
    shutil.rmtree(clean)


def _push_event(repo):
    """What a forge tells a job about the push of the branch."""
    before, after = git(repo, "rev-parse", "main", "feature").split()
    about = {"full_name": "ada/shop", "default_branch": "main"}
    commit = {"id": after, "message": "Change the prices"}
    return {
        "ref": "refs/heads/feature",
        "before": before,
        "after": after,
        "repository": about,
        "commits": [commit],
        "head_commit": commit,
        "sender": {"login": "ada"},
    }


def _stage(repo):
    """Keep an index with a staged file beside the one without."""
    (repo / "src/shop/late.py").write_text("import os\n")
    clean = (repo / ".git/index").read_bytes()
    git(repo, "add", "src/shop/late.py")
    (repo / ".git/index").rename(repo / ".git/index.staged")
    (repo / ".git/index").write_bytes(clean)
    (repo / "src/shop/late.py").unlink()


def _commit(repo, message):
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", message)
