"""The pull request of a journey: its code with defects that are known, and what authors and people do to it, also in bad faith."""

import random
from dataclasses import dataclass, field
from typing import Any

from forge_kinds import Clock, ForgeKind
from forge_standin import ForgeServer

from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.events import Shown
from punchlist.model.ledger.run import Run
from punchlist.views.pulls.conversation import ResolveRule
from punchlist.views.pulls.marks import MarkKind, add_mark, read_mark
from punchlist.views.pulls.stack import name_branch

PATHS = ("a.py", "b.py", "far.py")
"""The diff has hunks of the first two: nothing can be said at a line of the third."""
WRITERS = ("ann", "bob")
PEOPLE = (*WRITERS, "guest")
STACK = name_branch(7)
VERBS = (
    "dismiss as designed",
    "dismiss",
    "apply",
    "stack",
    "explain",
    "again",
    "fix it so",
    "dance",
)
HIDDEN = (
    "> {}\n\nReally?",
    "Type:\n```\n{}\n```",
    "~~~~\n```\n{}\n~~~~",
    "```\n```python\n{}\n```",
    "    {}",
    "`{}`",
    "<!--\n{}\n-->Well",
    "I would say {}",
    "I say:\n{}",
)
"""How an order stands in a comment that gives none."""


@dataclass
class Defect:
    """What is wrong in the code."""

    number: int
    path: str
    line: int
    present: bool = True
    age: int = 0
    """Changes with the path and the code round it, and with it the fingerprint."""
    code: int = 0
    """Changes with the code round it."""
    gone: bool = False
    """Its file was deleted: what comes there later is other code."""
    told: tuple[str, int] = ("", 0)
    """Path and code when a run last found it."""

    @property
    def fingerprint(self) -> str:
        return f"{self.number:08x}{self.age:024x}"

    def move(self, path: str, code: int) -> None:
        self.path, self.code, self.age = path, code, self.age + 1


@dataclass
class Truth:
    """What the laws are judged by."""

    dismissed: set[int] = field(default_factory=set)
    """Defects that a person who may write has dismissed, and punchlist has heard it."""
    heard: set[int] = field(default_factory=set)
    """Those of them that punchlist had raised or answered itself."""
    settled: set[int] = field(default_factory=set)
    """Those of `heard` at the end of an answer: they are never raised again."""
    fixed_by: dict[int, set[str]] = field(default_factory=dict)
    """By defect: commits that are proven to fix it."""
    silent: set[int] = field(default_factory=set)
    """Defects that the analyzer looked for in the last run and did not report."""
    orders: dict[str, str] = field(default_factory=dict)
    """By comment with an order: who gave it."""
    no_orders: set[str] = field(default_factory=set)
    """Comments in which an order is quoted, hidden or code."""
    strange: set[str] = field(default_factory=set)
    """Commits that people put on punchlist's branch."""
    offered: dict[str, dict[int, str]] = field(default_factory=dict)
    """By tip that punchlist pushed to its branch: the commit with the fix of each defect, if that is proven, else ""."""
    raised: dict[str, set[int]] = field(default_factory=dict)
    """By such a tip: the defects that the analyzer reported, not people in a new thread alone."""
    refused: dict[int, set[str]] = field(default_factory=dict)
    """By stacked pull request that a person closed: the fixes in it."""


class World:
    """What there is: the forge, the code, what punchlist's ledger holds."""

    def __init__(self, kind: ForgeKind, server: ForgeServer, seed: int) -> None:
        self.random = random.Random(seed)
        self.kind, self.server = kind, server
        self.clock = Clock()
        self.state = server.fresh(
            permissions={"ann": "write", "bob": "admin", "guest": "read"},
            hunks={path: [(1, 40)] for path in PATHS[:2]},
            clock=self.clock,
        )
        self.seen: tuple[set[str], set[str]] = (set(), set())
        """Threads that we resolved, and keys of our threads."""
        self.defects: list[Defect] = []
        self.threads: dict[str, int] = {}
        """By thread of others: the defect that it is about."""
        self.runs: list[Run] = []
        self.orders: dict[str, Any] = {}
        self.dismissals: dict[str, Dismissal] = {}
        self.closed: frozenset[str] = frozenset()
        self.rule = ResolveRule.OWN
        self.commits: set[str] = set()
        self.truth = Truth()
        self.trail: list[str] = []
        self.broken: list[str] = []
        self.heads = self.renames = self.hands = 0
        self.stacking = self.random.random() < 0.7
        """The setting pr.fixes."""
        self.asking = False
        """A person asks for a stacked pull request in the answer that is under way."""
        self.squashed: set[str] = set()
        """Tips of punchlist's branch that were merged as one commit."""
        self.stacks: dict[str, Shown] = {}
        self.pushed_tips: set[str] = set()
        """By run: what was recorded of its stacked pull request."""
        self.renamed: dict[str, str] = {}
        """By path of a file of the base: the one that it has there, if it is another."""

    def list_writers(self) -> set[str]:
        rights = self.state.permissions.items()
        return {who for who, right in rights if right in ("admin", "write")}

    def move_head(self) -> None:
        self.heads += 1
        self.state.head = f"{self.heads:040x}"

    def list_comments(self) -> list[dict[str, Any]]:
        said = [each for thread in self.state.threads for each in thread["comments"]]
        return said + self.state.comments


class People(World):
    """What authors and people do."""

    def push(self) -> None:
        """New code: some defects come, some go, some move; the diff's head is another."""
        chance = self.random.random
        for _ in range(self.random.randrange(3)):
            where = self.random.choice([*self.state.hunks, "far.py"])
            self.defects.append(Defect(len(self.defects) + 1, where, self.random.randrange(1, 50)))
        for each in self.defects:
            if chance() < 0.15:
                each.present = not (each.present or each.gone)
            if chance() < 0.2:
                each.line = self.random.randrange(1, 50)
        self.move_head()

    def rebase(self) -> None:
        """The same change on another base: commits have other names, code round it may be another."""
        for each in self.defects:
            if self.random.random() < 0.3 and self._is_followed(each, each.path):
                each.move(each.path, each.code + 1)
        self.state.base = f"{self.random.getrandbits(160):040x}"
        self.move_head()

    def drop_commits(self) -> None:
        """A force-push without the commits that were pushed for the author."""
        for each in self.defects:
            if self.truth.fixed_by.get(each.number, set()) & self.commits:
                each.present = not each.gone
        self.commits.clear()
        self.squashed.clear()
        self.move_head()

    def rename_file(self) -> None:
        """A file has another name; threads there are about lines that are gone. A file that is not in the base is known again by the
        code in it: where that is another as well, it is another file to everyone.
        """
        old = self.random.choice(list(self.state.hunks))
        self.renames += 1
        new = f"{old[0]}{self.renames}.py"
        self.state.hunks = {
            new if path == old else path: at for path, at in self.state.hunks.items()
        }
        if old[0] != "n":
            self.renamed[new] = self.renamed.pop(old, old)
        self._outdate(old)
        for each in self.defects:
            if each.path == old:
                kept = each.code if self._is_followed(each, new) else each.told[1]
                each.move(new, kept)
        self.move_head()

    def _is_followed(self, defect: Defect, path: str) -> bool:
        """Return whether git can tell that the file was the one that a run has seen."""
        return defect.told[0] in ("", path) or path[0] != "n"

    def delete_file(self) -> None:
        """A file's code is gone with its defects, and another file comes: a new one, or one of the base."""
        old = self.random.choice(list(self.state.hunks))
        self.renames += 1
        del self.state.hunks[old]
        self.renamed.pop(old, None)
        self.state.hunks[f"{self.random.choice('nm')}{self.renames}.py"] = [(1, 40)]
        self._outdate(old)
        for each in self.defects:
            each.gone = each.gone or each.path == old
            each.present = each.present and not each.gone
        self.move_head()

    def outdate(self) -> None:
        """The code under a thread changes, whoever began it."""
        if self.state.threads:
            self.random.choice(self.state.threads)["line"] = None

    def _outdate(self, path: str) -> None:
        for each in self.state.threads:
            if each["path"] == path:
                each["line"] = each["first"] = None

    def open_thread(self) -> None:
        if not self.defects:
            return
        about = self.random.choice(self.defects)
        author, bot = self.random.choice([("rabbit", True), ("ann", False), ("guest", False)])
        shown = about.path in self.state.hunks
        line = about.line if shown and about.line <= 40 else 3
        path = about.path if shown else next(iter(self.state.hunks))
        made = self.state.add_thread(path, line, f"Defect {about.number} is bad", author, bot=bot)
        self.threads[made["id"]] = about.number

    def order(self) -> None:
        """Someone gives an order, in a thread or below the pull request."""
        verb = self.random.choice(VERBS)
        who = self.random.choice([*PEOPLE, "robot"])
        body = f"/punchlist {verb}" + self.random.choice(["", "\nPlease."])
        said = self._say(body, who, bot=who == "robot")
        self.truth.orders[str(said["id"])] = who

    def hide_order(self) -> None:
        """Someone quotes an order, or shows it as code: nothing follows."""
        body = self.random.choice(HIDDEN).format(f"/punchlist {self.random.choice(VERBS)}")
        said = self._say(body, self.random.choice(PEOPLE))
        self.truth.no_orders.add(str(said["id"]))

    def forge_mark(self) -> None:
        """Someone else writes what only punchlist writes: it is not punchlist's."""
        who, bot = self.random.choice([("guest", False), ("rabbit", True), ("ann", False)])
        key = self.random.choice([each.fingerprint for each in self.defects] or ["0" * 32])
        kind = self.random.choice(list(MarkKind))
        words = f"**Fixed** in {'c' * 40}, believe me"
        body = add_mark(words, kind, key if kind is MarkKind.ITEM else "")
        if self.random.random() < 0.3:
            made = self.state.add_thread(next(iter(self.state.hunks)), 3, body, who, bot=bot)
            self.threads[made["id"]] = int(key[:8], 16)
        else:
            self._say(body, who, bot=bot)

    def _say(self, body: str, who: str, *, bot: bool = False) -> dict[str, Any]:
        threads = self.state.threads
        if threads and self.random.random() < 0.8:
            thread = self.random.choice(threads)
            self.state.reply(thread, body, who)
            thread["comments"][-1]["bot"] = bot
            return thread["comments"][-1]
        self.state.comments.append(self.state.add_comment(body, who, bot=bot))
        return self.state.comments[-1]

    def resolve(self) -> None:
        if self.state.threads:
            self.random.choice(self.state.threads)["resolved"] = self.random.choice(PEOPLE)

    def reopen(self) -> None:
        closed = [each for each in self.state.threads if each["resolved"]]
        if closed:
            thread = self.random.choice(closed)
            thread["resolved"] = ""
            thread["reopened"] = thread["id"] in self.closed

    def delete(self) -> None:
        """A maintainer deletes a comment, whoever wrote it."""
        said = self.list_comments()
        if said:
            self.state.delete_comment(self.random.choice(said))

    def edit(self) -> None:
        """Someone edits a comment: their own, or a maintainer ours; an order may come or go by that."""
        said = self.list_comments()
        if not said:
            return
        comment = self.random.choice(said)
        name, body = str(comment["id"]), comment["body"]
        mark = read_mark(body)
        if comment["author"] == self.state.viewer and mark:
            comment["body"] = add_mark("Other words", MarkKind(mark.kind), mark.key)
        elif name in self.truth.orders and name not in self.orders:
            comment["body"] = "Forget it"
            del self.truth.orders[name]
        elif name in self.truth.no_orders and comment["author"] in PEOPLE:
            comment["body"] = "/punchlist explain"
            self.truth.no_orders.remove(name)
            self.truth.orders[name] = comment["author"]
        elif name not in self.truth.orders:
            comment["body"] = f"{body}\n\nEdited." if not mark else body

    def change_rights(self) -> None:
        rights, chance = self.state.permissions, self.random.random
        rights["bob"] = self.random.choice(["admin", "write", "read"])
        self.state.may_resolve = chance() < 0.8
        self.state.may_check = chance() < 0.8
        self.state.may_open = chance() < 0.8
        self.stacking = chance() < 0.7
        self.state.denied = self.random.choice([403, 404]) if chance() < 0.2 else 0
        self.rule = self.random.choice(list(ResolveRule))
