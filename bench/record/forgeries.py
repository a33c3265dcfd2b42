"""Forged commits and evidence, by class and as a seed says: `punchlist prove` must agree to none.

A forger has the repository, the evidence of an honest run, and the ledger's format. They rewrite the end of the evidence after the
commit's anchor (`tail`), or all of it with patches that fit the forged commit and an anchor of their own (`whole`).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent))

from tampers import hashed

SOURCE = Path(__file__).parents[2] / "src"
PRICES = "def total(prices):\n    return sum(prices)\n\n\ndef cheapest(prices):\n    return min(prices)\n\n\ndef free(price):\n    return price == None\n"
CART = "def count(cart):\n    return len(cart)\n\n\ndef first(cart):\n    return cart[0] if cart else None\n"
NAMES = 'def initials(name):\n    return "".join(part[0] for part in name.split())\n'
OLD_TESTS = "import unittest\n\nfrom shop.prices import total\n\n\nclass Shop(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n"
NEW_TESTS = """import unittest

from shop.cart import count, first
from shop.names import initials
from shop.prices import cheapest, free, total


class Shop(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)

    def test_cheapest(self):
        self.assertEqual(cheapest([3, 1, 2]), 1)

    def test_free(self):
        self.assertTrue(free(None))

    def test_count(self):
        self.assertEqual(count([1]), 1)

    def test_first(self):
        self.assertEqual((first([2, 1]), first([])), (2, None))

    def test_initials(self):
        self.assertEqual(initials("Ada  Lovelace"), "AL")
"""
TESTS = "tests/test_shop.py"
OLD = {
    "shop/__init__.py": "",
    "shop/prices.py": PRICES,
    "shop/cart.py": CART,
    "shop/names.py": NAMES,
    "tests/__init__.py": "",
    TESTS: OLD_TESTS,
}
NEW = {
    "shop/prices.py": f"import os\n\n\n{PRICES}",
    "shop/cart.py": f"import re\n\n\n{CART}",
    "shop/names.py": f"import json\n\n\n{NAMES}",
    TESTS: NEW_TESTS,
}
BREAKS = (
    ("shop/prices.py", "min(prices)", "max(prices)"),
    ("shop/prices.py", "return min", "return 0 * min"),
    ("shop/cart.py", "len(cart)", "len(cart) + 1"),
    ("shop/cart.py", "cart[0] if cart else None", "cart[0]"),
    ("shop/names.py", "name.split()", 'name.split(" ")'),
    ("shop/names.py", "part[0]", "part[-1]"),
)
"""What no test of the first commit notices, and a newer one does."""
FINDINGS = (
    "\n\ndef load(path):\n    try:\n        return open(path)\n    except:\n        return None\n",
    "\n\ndef same(a):\n    return a == None\n",
    "\n\ndef add(item, to=[]):\n    to.append(item)\n    return to\n",
    "\n\ndef name(x):\n    return unknown_name(x)\n",
)
ATTRIBUTES = (
    "*.py export-ignore\n",
    "shop/*.py filter=shop\n",
    "*.py working-tree-encoding=UTF-16\n",
    "*.py text eol=crlf\n",
    "tests/** export-ignore\n",
    "*.py diff=none merge=ours\n",
)
IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def make_origin(folder: Path, *more: str) -> tuple[Path, bytes]:
    """Make a repository with an honest run on it; return it, and the run's evidence."""
    repo = folder / "origin"
    for files, message in ((OLD, "a shop"), (NEW, "more tests, and more of the shop")):
        for name, text in files.items():
            (repo / name).parent.mkdir(parents=True, exist_ok=True)
            (repo / name).write_text(text)
        if message == "a shop":
            git(repo, "init", "-q", "-b", "main")
        git(repo, "add", "-A")
        git(repo, *IDENTITY, "commit", "-qm", message)
    home = folder / "home-of-the-run"
    asked = ("run", "--all", "--yes", "--quiet", "--commits", "item", *more)
    ran = start(repo, home, *asked)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    exported = folder / "evidence.jsonl"
    ran = start(repo, home, "export", "last", "--to", str(exported))
    assert exported.exists(), ran.stdout + ran.stderr
    return repo, exported.read_bytes()


def start(
    repo: Path, home: Path, *arguments: str, **env: str
) -> "subprocess.CompletedProcess[str]":
    """Type a command of punchlist, with ruff as the only analyzer."""
    own = {
        "PUNCHLIST_HOME": str(home),
        "PYTHONPATH": str(SOURCE),
        "PUNCHLIST_ANALYZERS__ENABLED": "ruff",
    }
    return subprocess.run(
        [sys.executable, "-m", "punchlist", *arguments],
        cwd=repo,
        env={**os.environ, **own, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def git(repo: Path, *arguments: str, stdin: bytes = b"", **env: str) -> str:
    ran = subprocess.run(
        ["git", *arguments],
        cwd=repo,
        input=stdin,
        env={**os.environ, **env},
        check=True,
        capture_output=True,
    )
    return ran.stdout.decode().strip()


@dataclass
class Forger:
    """A clone that a forger has made ready for the user who proves, and the evidence beside it."""

    origin: Path
    clone: Path
    evidence: bytes
    chance: Random
    nth: int = 0
    """Which of its class it is."""
    named: str = "HEAD"
    tip: str = field(init=False)

    def __post_init__(self) -> None:
        (branch,) = git(
            self.origin, "branch", "--format=%(refname:short)", "--list", "punchlist/*"
        ).split()
        git(self.clone.parent, "clone", "-q", "-b", branch, str(self.origin), str(self.clone))
        self.tip = self.git("rev-parse", "HEAD")
        self.entries = [json.loads(line) for line in self.evidence.splitlines()]

    def git(self, *arguments: str, **more: str) -> str:
        return git(self.clone, *IDENTITY, *arguments, **more)

    def pick(self, *options: object) -> object:
        """Each of its class takes the next option; the seed says where they begin."""
        return options[self.nth % len(options)]

    @property
    def message(self) -> str:
        return self.git("log", "-1", "--format=%B", self.tip)

    def read(self, path: str, commit: str = "") -> str:
        return git(self.clone, "show", f"{commit or self.tip}:{path}") + "\n"

    def store(self, content: str) -> str:
        return git(self.clone, "hash-object", "-w", "--stdin", stdin=content.encode())

    def write_tree(self, files: dict[str, str | None], links: dict[str, str] | None = None) -> str:
        """Return the tree of the last commit with these files, None for gone, and submodules."""
        index = str(self.clone.parent / f"{self.clone.name}.index")
        git(self.clone, "read-tree", self.tip, GIT_INDEX_FILE=index)
        for path, content in files.items():
            gone = ("update-index", "--force-remove", path)
            blob = "" if content is None else self.store(content)
            made = ("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
            git(self.clone, *(gone if content is None else made), GIT_INDEX_FILE=index)
        for path, commit in (links or {}).items():
            self_add = ("update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
            git(self.clone, *self_add, GIT_INDEX_FILE=index)
        return git(self.clone, "write-tree", GIT_INDEX_FILE=index)

    def make_commit(self, tree: str, message: str, parent: str = "") -> str:
        """Return a commit like the last one, with another tree and message."""
        raw = git(self.clone, "cat-file", "commit", self.tip)
        head = raw.partition("\n\n")[0].split("\n")
        head[0] = f"tree {tree}"
        if parent:
            head[1] = f"parent {parent}"
        text = "\n".join(head) + "\n\n" + message + "\n"
        return git(self.clone, "hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode())

    def forge(
        self,
        files: dict[str, str | None],
        *,
        links: dict[str, str] | None = None,
        whole: bool = False,
        edit: Callable[[list[dict]], None] = lambda entries: None,
    ) -> None:
        """Put a forged commit in the place of the last one, with evidence that fits."""
        tree = self.write_tree(files, links)
        message, entries = self.message, self.entries
        if whole:
            at = self.find_anchor()
            edit(entries)
            self.adopt_patch(tree)
            known, prefix = entries[at]["hash"], rechain(entries[: at + 1])
            message = message.replace(known, json.loads(prefix[-1])["hash"])
            for entry, line in zip(entries, prefix, strict=False):
                entry["hash"] = json.loads(line)["hash"]
        forged = self.make_commit(tree, message)
        text = json.dumps(entries, ensure_ascii=False).replace(self.tip, forged)
        self.entries = json.loads(text)
        self.show(forged)

    def show(self, commit: str) -> None:
        self.git("reset", "-q", "--hard", commit)

    def find_anchor(self) -> int:
        known = self.git(
            "log", "-1", "--format=%(trailers:key=Punchlist-Ledger,valueonly)", self.tip
        )
        return next(n for n, each in enumerate(self.entries) if each["hash"] == known)

    def adopt_patch(self, tree: str) -> None:
        """Write into the ledger that the last batch was meant to change what is forged."""
        paths = self.git("diff-tree", "-r", "--name-only", f"{self.tip}~", tree).split("\n")
        files = [self._describe_file(path, tree) for path in paths]
        batch = max(
            each["batch"]
            for entry in self.entries
            if entry["event"]["kind"] == "committed"
            for each in entry["event"]["landed"]
        )
        for entry in self.entries:
            patches = entry["event"].get("patches", {})
            if entry["event"]["kind"] == "attempted" and str(batch) in patches:
                patches[str(batch)] = {"files": [each for each in files if each]}

    def _describe_file(self, path: str, tree: str) -> dict | None:
        listed = self.git("ls-tree", tree, "--", path)
        if not listed:
            return {"path": path, "content": None}
        mode, kind, blob = listed.split("\t")[0].split()
        if kind != "blob":
            return None
        raw = subprocess.run(
            ["git", "cat-file", "blob", blob], cwd=self.clone, check=True, capture_output=True
        ).stdout
        return {"path": path, "content": raw.decode("latin-1"), "mode": mode}

    def write(self) -> Path:
        """Write the evidence with a chain that fits, and return the file."""
        path = self.clone.parent / f"{self.clone.name}.jsonl"
        path.write_bytes(b"\n".join(rechain(self.entries)) + b"\n")
        return path

    def break_code(self) -> dict[str, str | None]:
        path, old, new = BREAKS[(self.nth + self.chance.randrange(len(BREAKS))) % len(BREAKS)]
        return {path: self.read(path).replace(old, new)}


def rechain(entries: list[dict]) -> list[bytes]:
    prev, made = "", []
    for seq, entry in enumerate(entries, 1):
        made.append(hashed({**entry, "seq": seq, "prev": prev}))
        prev = json.loads(made[-1])["hash"]
    return made


def _started(entries: list[dict]) -> dict:
    return entries[0]["event"]


def old_base(forger: Forger) -> str:
    """The evidence names the first commit as base; its tests do not notice what is broken."""
    oldest = forger.git("rev-list", "--max-parents=0", "HEAD")

    def edit(entries: list[dict]) -> None:
        _started(entries)["change"]["base"] = oldest

    whole = bool(forger.pick(True, False, True, True))
    forger.forge(forger.break_code(), whole=whole, edit=edit)
    return "whole" if whole else "tail"


def other_checks(forger: Forger) -> str:
    """The evidence names checks that notice nothing, or none, or claims only silence."""
    how = forger.pick("true", "none", "unusable", "renamed")

    def edit(entries: list[dict]) -> None:
        true = [{"name": "true", "command": ["true"], "kind": "plain"}]
        _started(entries)["checks"] = true if how in ("true", "renamed") else []
        for event in (entry["event"] for entry in entries):
            if event["kind"] == "baselined" and how == "unusable":
                event["unusable"] = "it was broken before"
            elif event["kind"] == "baselined":
                event["check"] = "true" if how != "none" else "lint"

    forger.forge(forger.break_code(), whole=True, edit=edit)
    return str(how)


def weaker_tests(forger: Forger) -> str:
    """The commit changes tests, or what steers them, beside its fix."""
    tests, broken = forger.read(TESTS), forger.break_code()
    lines = tests.splitlines(keepends=True)
    kept = [line for line in lines if "assert" not in line or forger.chance.random() < 0.3]
    bodies = "".join(line.replace("self.assert", "0 and self.assert") for line in lines)
    changes: dict[str, dict[str, str | None]] = {
        "deleted": {**broken, TESTS: None},
        "skipped": {
            **broken,
            TESTS: tests.replace("class Shop", '@unittest.skip("slow")\nclass Shop'),
        },
        "emptied": {TESTS: bodies},
        "fewer": {TESTS: "".join(kept).replace("self):\n\n", "self):\n        pass\n\n")},
        "conftest": {**broken, "conftest.py": "collect_ignore_glob = ['tests/*']\n"},
        "loaded": {
            **broken,
            "tests/__init__.py": "import unittest\nunittest.TestCase.assertEqual = print\n",
        },
    }
    how = str(forger.pick(*changes))
    forger.forge(changes[how], whole=bool(forger.nth % 2 == 0 or how == "fewer"))
    return how


def replaced_ref(forger: Forger) -> str:
    """The clone shows another commit, tree or file in the place of the honest one."""
    how = forger.pick("commit", "tree", "blob", "graft", "parent")
    tree = forger.write_tree(forger.break_code())
    if how == "commit":
        forger.git("replace", forger.tip, forger.make_commit(tree, forger.message))
    elif how == "tree":
        forger.git("replace", forger.git("rev-parse", f"{forger.tip}^{{tree}}"), tree)
    elif how == "blob":
        ((path, text),) = forger.break_code().items()
        forger.git(
            "replace", forger.git("rev-parse", f"{forger.tip}:{path}"), forger.store(text or "")
        )
    elif how == "graft":
        oldest = forger.git("rev-list", "--max-parents=0", "HEAD")
        (forger.clone / ".git" / "info").mkdir(exist_ok=True)
        (forger.clone / ".git" / "info" / "grafts").write_text(f"{forger.tip} {oldest}\n")
    else:
        parent = forger.git("rev-parse", f"{forger.tip}~")
        forger.git(
            "replace", parent, forger.make_commit(tree, "another parent", parent=f"{parent}")
        )
    return str(how)


def submodule(forger: Forger) -> str:
    """The commit adds or moves a submodule, whose files no check here has."""
    how = forger.pick("alone", "named", "folder", "inside")
    commit = forger.git("rev-parse", f"{forger.tip}~")
    files: dict[str, str | None] = {}
    path = str(forger.chance.choice(("vendor", "shop/vendor", "lib/extra")))
    if how == "named":
        files[".gitmodules"] = f'[submodule "{path}"]\n\tpath = {path}\n\turl = ../other\n'
    if how == "folder":
        path, files = "tests", {TESTS: None, "tests/__init__.py": None}
    if how == "inside":
        path, files = "shop/cart.py", {"shop/cart.py": None}
    forger.forge(files, links={path: commit}, whole=bool(forger.nth % 2))
    return str(how)


def attributes(forger: Forger) -> str:
    """The commit decides what git makes of files in a checkout or an archive."""
    text = str(forger.pick(*ATTRIBUTES))
    path = str(forger.chance.choice((".gitattributes", "shop/.gitattributes", ".GitAttributes")))
    forger.forge({path: text}, whole=bool(forger.nth % 2))
    return f"{path} {text.strip()}"


def new_findings(forger: Forger) -> str:
    """The commit brings about what an analyzer here reports, openly or suppressed."""
    text = str(forger.pick(*FINDINGS))
    hidden = forger.nth % 3 == 2
    if hidden:
        text = "".join(f"{line}  # noqa\n" if line.strip() else "\n" for line in text.splitlines())
    path = str(forger.chance.choice(("shop/cart.py", "shop/prices.py", "shop/more.py")))
    before = "" if path == "shop/more.py" else forger.read(path)
    forger.forge({path: before + text.lstrip("\n" if not before else "")}, whole=True)
    return f"{path}{' suppressed' if hidden else ''}"


def squashed_range(forger: Forger) -> str:
    """All commits of the run become one, with trailers of all, of the last, or made up."""
    how = forger.pick("all", "last", "joined", "known")
    start_, forger.named = forger.git("merge-base", "HEAD", "origin/main"), "origin/main..HEAD"
    messages = forger.git("log", "--reverse", "--format=%B", f"{start_}..HEAD").strip()
    items = ", ".join(
        forger.git(
            "log",
            "--reverse",
            "--format=%(trailers:key=Punchlist-Items,valueonly)",
            f"{start_}..HEAD",
        ).split()
    )
    tree = forger.write_tree(forger.break_code() if how in ("known", "last") else {})
    message = forger.message
    if how == "all":
        message = messages
    if how == "joined":
        lines = [
            f"Punchlist-Items: {items}" if each.startswith("Punchlist-Items") else each
            for each in message.splitlines()
        ]
        message = "\n".join(lines)
    squashed = forger.make_commit(tree, message, parent=start_)
    if how in ("known", "last"):
        forger.entries = json.loads(json.dumps(forger.entries).replace(forger.tip, squashed))
    forger.show(squashed)
    return str(how)


def unclaimed_commits(forger: Forger) -> str:
    """The range has a commit that claims nothing, or only has the trailers of another."""
    how = forger.pick("after", "before", "copied", "run only", "merge")
    tree = forger.write_tree(forger.break_code())
    forger.named = "origin/main..HEAD"
    if how == "after":
        forger.show(forger.make_commit(tree, "small things", parent=forger.tip))
    elif how == "before":
        start_ = forger.git("merge-base", "HEAD", "origin/main")
        forger.git("checkout", "-q", "-b", "evil", start_)
        (forger.clone / "notes.txt").write_text("nothing to see\n")
        forger.git("add", "-A")
        forger.git("commit", "-qm", "notes")
        forger.git("merge", "-q", "--no-edit", forger.tip)
    elif how == "copied":
        forger.show(forger.make_commit(tree, forger.message, parent=forger.tip))
    elif how == "run only":
        run = next(each for each in forger.message.splitlines() if each.startswith("Punchlist-Run"))
        forger.show(forger.make_commit(tree, f"small things\n\n{run}", parent=forger.tip))
    else:
        message = f"merge\n\n{forger.message.partition(chr(10))[2].strip()}"
        made = forger.git(
            "commit-tree", tree, "-p", forger.tip, "-p", "origin/main~1", "-m", message
        )
        forger.show(made)
    return str(how)


def other_evidence(forger: Forger) -> str:
    """The evidence is of another repository or run, cut off, or says more than the commit."""
    how = forger.pick("another head", "another run", "cut", "moved lines", "more lines")
    if how == "another head":

        def edit(entries: list[dict]) -> None:
            _started(entries)["change"]["head"] = "0" * 40

        forger.forge({}, whole=True, edit=edit)
    elif how == "another run":
        text = json.dumps(forger.entries).replace(_find_run(forger), "261118-ffffff")
        forger.entries = json.loads(text)
    elif how == "cut":
        forger.entries = forger.entries[: forger.find_anchor() + 1]
    elif how == "moved lines":
        text = forger.read("shop/prices.py")
        head, _, rest = text.partition("def cheapest")
        forger.forge({"shop/prices.py": f"def cheapest{rest.rstrip()}\n\n\n{head.strip()}\n"})
    else:
        forger.forge({"shop/prices.py": forger.read("shop/prices.py") + "\n\nBACK = 'door'\n"})
    return str(how)


def _find_run(forger: Forger) -> str:
    return forger.git("log", "-1", "--format=%(trailers:key=Punchlist-Run,valueonly)", forger.tip)


CLASSES = (
    old_base,
    other_checks,
    weaker_tests,
    replaced_ref,
    submodule,
    attributes,
    new_findings,
    squashed_range,
    unclaimed_commits,
    other_evidence,
)


@dataclass(frozen=True)
class Outcome:
    kind: str
    how: str
    code: int
    verdict: str
    why: str


def try_forgery(
    origin: tuple[Path, bytes], folder: Path, kind: Callable[[Forger], str], nth: int, seed: int
) -> Outcome:
    """Forge, and let a user with a home of their own prove it with everything allowed."""
    repo, evidence = origin
    forger = Forger(repo, folder / "clone", evidence, Random(f"{seed} {kind.__name__} {nth}"), nth)
    how = kind(forger)
    arguments = ("prove", forger.named, "--evidence", str(forger.write()), "--yes", "--json")
    ran = start(forger.clone, folder / "home", *arguments)
    report = json.loads(ran.stdout) if ran.stdout.startswith("{") else {}
    if "verdict" not in report:
        said = report.get("error", ran.stderr.strip())
        return Outcome(kind.__name__, how, ran.returncode, "refused", str(said))
    return Outcome(kind.__name__, how, ran.returncode, report["verdict"], _find_reason(report))


def _find_reason(report: dict) -> str:
    reasons = [*report["faults"]]
    for commit in report["commits"]:
        reasons += [commit["said"], *commit["faults"]]
        reasons += [each["said"] for each in commit["claims"] if each["verdict"] != "agree"]
    return next(filter(None, reasons), "")


def measure(folder: Path, count: int, seed: int) -> list[Outcome]:
    """Try that many forgeries, each class in turn."""
    origin = make_origin(folder)

    def try_one(number: int) -> Outcome:
        nth, place = divmod(number, len(CLASSES))
        own = folder / f"forgery-{number}"
        own.mkdir()
        outcome = try_forgery(origin, own, CLASSES[place], nth + seed % 7, seed)
        shutil.rmtree(own)
        return outcome

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(try_one, range(count)))


def render_table(done: list[Outcome], *, each: bool = False) -> list[str]:
    """Return the rows of a table: how many of each class were tried, and agreed to."""
    tried, agreed = (
        Counter(one.kind for one in done),
        Counter(one.kind for one in done if one.code == 0 or one.verdict == "agree"),
    )
    lines = ["| forgery | tried | agreed to |", "|---|---|---|"]
    lines += [f"| {kind.replace('_', ' ')} | {tried[kind]} | {agreed[kind]} |" for kind in tried]
    lines.append(f"| **all** | {len(done)} | {sum(agreed.values())} |")
    if each:
        lines += ["", *(f"{one.code} {one.kind} ({one.how}): {one.why}" for one in done)]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", action="store_true", help="print each with its reason")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="punchlist-forgeries-") as name:
        done = measure(Path(name), options.count, options.seed)
    print("\n".join(render_table(done, each=options.each)))
    return int(any(one.code == 0 for one in done))


if __name__ == "__main__":
    sys.exit(main())
