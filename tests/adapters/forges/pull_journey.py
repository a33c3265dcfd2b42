"""A pull request over time: pushes, people, faults and kills in random order, and laws that hold after each step.

It works on boards, the adapter of a forge and its stand-in; runs are made up, and what they find is known, so that the laws are judged by
what is true and not by what punchlist believes.
"""

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from forge_kinds import Clock, ForgeKind
from forge_standin import LOST, Fault, ForgeServer
from msgspec.structs import replace

from made import STARTED, made_run
from punchlist.app.pulls.findings import gather_entries, list_ids
from punchlist.app.pulls.history import PullHistory, find_gone, find_settled, follow_keys
from punchlist.app.pulls.orders import (
    FoundDismissal,
    find_carried,
    find_dismissed,
    judge_orders,
    select_orders,
    show_dismissed,
)
from punchlist.errors import ToolError
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Attempt, Fact, Item, Status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.run import Landing, LatestReview, Reviewing, Run
from punchlist.model.patch.change import LineRange
from punchlist.views.pulls.board import (
    Picture,
    find_closed,
    is_proven,
    make_board,
    make_failed_check,
)
from punchlist.views.pulls.conversation import Conversation, PullRequest, ResolveRule
from punchlist.views.pulls.diff_table import DiffTable
from punchlist.views.pulls.marks import MarkKind, read_mark
from punchlist.views.pulls.orders import OrderVerb

PATHS = ("a.py", "b.py", "far.py")
"""The diff has hunks of the first two: nothing can be said at a line of the third."""
SLOW = Fault(429, headers={"Retry-After": "30"}, message="Too Many Requests")
WRITERS = ("ann", "bob")
PEOPLE = (*WRITERS, "guest")


@dataclass
class Defect:
    """What is wrong in the code: `by` is the analyzer, or the author of a thread about it."""

    number: int
    path: str
    line: int
    present: bool = True
    age: int = 0
    """Changes with the code round it, and with it the fingerprint."""

    @property
    def fingerprint(self) -> str:
        return f"{self.number:08x}{self.age:024x}"


@dataclass
class Truth:
    """What the laws are judged by."""

    dismissed: set[int] = field(default_factory=set)
    """Defects that a person who may write has dismissed, and punchlist has heard it."""
    heard: set[int] = field(default_factory=set)
    """Those of them that punchlist had raised or answered itself."""
    settled: set[int] = field(default_factory=set)
    """Those of `heard` at the end of an answer: they are never raised again."""
    proven: set[str] = field(default_factory=set)
    """Commits with proven fixes that the head has."""
    fixed_by: dict[int, set[str]] = field(default_factory=dict)
    """By defect: commits that are proven to fix it."""
    silent: set[int] = field(default_factory=set)
    """Defects that the analyzer looked for in the last run and did not report."""


class Fixes:
    """Knows which commits the head has, whatever a rebase calls them."""

    def __init__(self, commits: set[str]) -> None:
        self._commits = commits

    async def has_fix(self, commit: str) -> bool:
        return commit in self._commits


class Journey:
    def __init__(self, kind: ForgeKind, server: ForgeServer, seed: int) -> None:
        self.random = random.Random(seed)
        self.kind, self.server = kind, server
        self.clock = Clock()
        self.state = server.fresh(
            permissions={"ann": "write", "bob": "admin", "guest": "read"},
            hunks={path: [(1, 40)] for path in PATHS[:2]},
            clock=self.clock,
            watch=self.judge_change,
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
        self.heads = 0
        self.push()

    # what authors and people do

    def push(self) -> None:
        """New code: some defects come, some go, some move; the diff's head is another."""
        chance = self.random.random
        for _ in range(self.random.randrange(3)):
            where = self.random.choice(PATHS)
            self.defects.append(Defect(len(self.defects) + 1, where, self.random.randrange(1, 50)))
        for each in self.defects:
            if chance() < 0.15:
                each.present = not each.present
            if chance() < 0.2:
                each.line = self.random.randrange(1, 50)
        self._move_head()

    def rebase(self) -> None:
        """The same change on another base: commits have other names, code round it may be another."""
        for each in self.defects:
            each.age += self.random.random() < 0.3
        self.state.base = f"{self.random.getrandbits(160):040x}"
        self._move_head()

    def drop_commits(self) -> None:
        """A force-push without the commits that were pushed for the author."""
        for each in self.defects:
            if self.truth.fixed_by.get(each.number, set()) & self.commits:
                each.present = True
        self.commits.clear()
        self.truth.proven.clear()
        self._move_head()

    def _move_head(self) -> None:
        self.heads += 1
        self.state.head = f"{self.heads:040x}"

    def open_thread(self) -> None:
        if not self.defects:
            return
        about = self.random.choice(self.defects)
        author, bot = self.random.choice([("rabbit", True), ("ann", False), ("guest", False)])
        line = about.line if about.path in self.state.hunks and about.line <= 40 else 3
        path = about.path if about.path in self.state.hunks else "a.py"
        made = self.state.add_thread(path, line, f"Defect {about.number} is bad", author, bot=bot)
        self.threads[made["id"]] = about.number

    def order(self) -> None:
        """Someone gives an order, in a thread or below the pull request."""
        verb = self.random.choice(
            ["dismiss as designed", "dismiss", "apply", "explain", "again", "fix it so", "dance"]
        )
        who = self.random.choice([*PEOPLE, "robot"])
        body = self.random.choice(["", "I say:\n"]) + f"/punchlist {verb}"
        threads = self.state.threads
        if threads and self.random.random() < 0.8:
            thread = self.random.choice(threads)
            self.state.reply(thread, body, who)
            thread["comments"][-1]["bot"] = who == "robot"
        else:
            said = self.state.add_comment(body, who, bot=who == "robot")
            self.state.comments.append(said)

    def chat(self) -> None:
        if self.state.threads:
            thread = self.random.choice(self.state.threads)
            self.state.reply(
                thread, "> /punchlist dismiss no\n\nReally?", self.random.choice(PEOPLE)
            )

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
        said = [each for thread in self.state.threads for each in thread["comments"]]
        said += self.state.comments
        if said:
            self.state.delete_comment(self.random.choice(said))

    def change_rights(self) -> None:
        rights = self.state.permissions
        rights["bob"] = self.random.choice(["admin", "write", "read"])
        self.state.may_resolve = self.random.random() < 0.8
        self.state.may_check = self.random.random() < 0.8
        self.rule = self.random.choice(list(ResolveRule))

    # what punchlist does

    def answer(self) -> None:
        """Answer without trouble; what is then shown is stable."""
        self.state.faults.clear()
        assert self._work() == "done"
        self.check_stable()
        before = list(self.state.writes)
        if not any(each.order.verb in ("again", "fix") for each in self._judge()):
            assert self._work() == "done"
            if self.state.writes != before:
                self.broken.append(f"a second answer wrote {self.state.writes[len(before) :]}")

    def answer_with_faults(self) -> None:
        count = self.random.randrange(1, 5)
        faults = [None, LOST, Fault(502), Fault(503, effect=True), self.server.limited, SLOW]
        self.state.faults[:] = [self.random.choice(faults) for _ in range(count * 2)]
        self._work()
        self.state.faults.clear()

    def answer_and_be_killed(self) -> None:
        fault = Fault(500, effect=self.random.random() < 0.5, kill=True)
        self.state.faults[:] = [None] * self.random.randrange(6) + [fault]
        self._work()
        self.state.faults.clear()

    def _work(self) -> str:
        self.clock.now += 600
        self.look()
        return asyncio.run(self._be_a_process())

    async def _be_a_process(self) -> str:
        """Answer the pull request as a process of its own does; return how it ended."""
        task = asyncio.create_task(self._answer_once())
        loop = asyncio.get_running_loop()
        self.state.release.clear()
        self.state.kill = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            return "killed"
        finally:
            self.state.release.set()

    async def _answer_once(self) -> str:
        forge = self.kind.open(self.server, self.clock.pacing)
        pull = await forge.change(7)
        said = await forge.heard(pull)
        self._hear_truth()
        judged = judge_orders(said, self.orders)
        self.judged = judged
        try:
            await self._show(forge, pull, said, judged)
        except ToolError as error:
            self.trail.append(f"  {error}")
            pull = replace(pull, head=self.state.head)
            await forge.conclude(pull, make_failed_check(pull.head, str(error)))
            self.check_concluded()
            return "failed"
        self.orders |= {each.order.id: each.event for each in judged}
        self.truth.settled |= self.truth.heard
        self.check_concluded()
        return "done"

    def _judge(self) -> tuple[Any, ...]:
        return tuple(each for each in self.judged if not each.refused)

    async def _show(self, forge: Any, pull: PullRequest, said: Conversation, judged: Any) -> None:
        history = self._history()
        words = select_orders(judged, OrderVerb.DISMISS)
        if self.runs:
            self._dismiss(
                find_dismissed(said, history, words, landed=self._is_landed(self.runs[-1]))
            )
        fresh = {each.order.id: each.event for each in judged}
        settled = await find_settled(
            replace(history, orders={**history.orders, **fresh}), Fixes(self.commits)
        )
        run = self._find_run(
            said, settled, again=bool(select_orders(judged, OrderVerb.AGAIN, OrderVerb.FIX))
        )
        history = self._history()
        self._dismiss(find_carried(run, history, self.dismissals))
        self._dismiss(find_dismissed(said, history, words, landed=self._is_landed(run)))
        run = self.runs[-1]
        if select_orders(judged, OrderVerb.APPLY) and not self._is_landed(run):
            pull = self._push_fixes(run, pull)
        picture = await self._picture(run, pull, said, judged)
        board = make_board(picture)
        shown = await forge.show(pull, board)
        updates = shown.updates
        if shown.unplaced or any(each.startswith("thread ") for each in updates):
            picture = replace(
                picture, unplaced=shown.unplaced, conversation=await forge.heard(pull)
            )
            board = make_board(picture)
            updates = (*updates, *(await forge.show(pull, board)).updates)
        if updates:
            self.closed = find_closed(board, picture.conversation, updates)

    def _history(self) -> PullHistory:
        return PullHistory(runs=tuple(self.runs), orders=dict(self.orders))

    def _dismiss(self, found: Iterator[FoundDismissal]) -> None:
        for _, item, said in list(found):
            self.dismissals.setdefault(item.fingerprint, said)

    def _is_landed(self, run: Run) -> bool:
        return run.landing.published in self.commits

    def _push_fixes(self, run: Run, pull: PullRequest) -> PullRequest:
        """Push the run's branch."""
        self._move_head()
        self.commits.add(run.landing.published)
        for item in run.find_items(Status.FIXED):
            self.commits.add(item.commit)
            defect = self._defect_of(item)
            if is_proven(item):
                self.truth.proven.add(item.commit)
                self.truth.fixed_by.setdefault(defect.number, set()).add(item.commit)
                defect.present = False
        self.runs[-1] = replace(run, landing=replace(run.landing, tip=self.state.head))
        return replace(pull, head=self.state.head)

    def _find_run(self, said: Conversation, settled: Any, *, again: bool) -> Run:
        """Return the last run if nothing has changed, else a new one."""
        entries = gather_entries(said, settled)
        if self.runs and not again:
            last = self.runs[-1]
            known = {each.label for item in last.items.values() for each in item.findings}
            heads = (last.started.change.head, last.landing.tip)
            current = self.state.head in heads and last.started.change.base == self.state.base
            if current and list_ids(entries) <= known:
                return last
        self.runs.append(self._make_run(entries))
        return self.runs[-1]

    def _make_run(self, entries: Any) -> Run:
        broken = self.random.random() < 0.15
        labels: dict[int, list[tuple[str, str]]] = {}
        for author, said in entries.items():
            for entry in said:
                if entry["issue_id"] not in self.threads:  # what began it was deleted
                    self.defects.append(Defect(len(self.defects) + 1, "a.py", 3, present=False))
                    self.threads[entry["issue_id"]] = len(self.defects)
                labels.setdefault(self.threads[entry["issue_id"]], []).append(
                    (author, entry["issue_id"])
                )
        items = {}
        for each in self.defects:
            findings = [] if broken or not each.present else [self._finding(each, "ruff", "")]
            findings += [
                self._finding(each, f"file:{who}", label)
                for who, label in labels.get(each.number, ())
            ]
            if findings:
                number = len(items) + 1
                items[number] = self._make_item(number, each, tuple(findings))
        if not broken:
            self.truth.silent = {each.number for each in self.defects if not each.present}
        else:
            self.truth.silent = set()
        name = f"run{len(self.runs)}"
        change = replace(STARTED.change, head=self.state.head, base=self.state.base)
        review = LatestReview("ruff", self.state.head, failed="it crashed" if broken else "")
        return made_run(
            name, items=items, ended="leftovers", started=replace(STARTED, change=change, reviewers=("ruff",)),
            reviewing=Reviewing(reviews={"ruff": review}), landing=Landing(published=f"tip of {name}"),
        )  # fmt: skip

    def _finding(self, defect: Defect, source: str, label: str) -> Finding:
        return Finding(
            id=f"{source} {defect.number} {label}", spot=Spot(defect.path, defect.line), label=label, source=source,
            title=f"Defect {defect.number}", severity=self.random.choice(list(Severity)), rule=f"F{defect.number}",
        )  # fmt: skip

    def _make_item(self, number: int, defect: Defect, findings: tuple[Finding, ...]) -> Item:
        status = self.random.choice([Status.FIXED, Status.FILED, Status.DEFERRED, Status.BLOCKED])
        commit = f"{self.random.getrandbits(160):040x}" if status is Status.FIXED else ""
        attempts: tuple[Attempt, ...] = ()
        if known := self.dismissals.get(defect.fingerprint):
            status, attempts = Status.DISMISSED, (Attempt(1, Fact.DISMISSED, known.by, known.why),)
        proof = self.random.choice([ProofClass.RECHECKED, ProofClass.CLAIM])
        return Item(
            number=number, fingerprint=defect.fingerprint, findings=findings, status=status, attempts=attempts,
            proofs=(Proof(proof, "said"),) if status is Status.FIXED else (), commit=commit, made_in=commit,
        )  # fmt: skip

    def _defect_of(self, item: Item) -> Defect:
        return self.defects[int(item.fingerprint[:8], 16) - 1]

    async def _picture(
        self, run: Run, pull: PullRequest, said: Conversation, judged: Any
    ) -> Picture:
        history = self._history()
        keys = follow_keys(history.runs)
        earlier = [each for each in history.runs if each.id != run.id]
        fresh = {each.order.id: each.event for each in judged}
        past = replace(history, runs=tuple(earlier), orders={**history.orders, **fresh})
        landed = self._is_landed(run)
        return Picture(
            pull=pull, run=show_dismissed(run, self.dismissals, landed=landed),
            table=DiffTable({path: (LineRange(1, 40),) for path in self.state.hunks}), conversation=said, landed=landed,
            keys=keys[run.id], settled=await find_settled(past, Fixes(self.commits)), gone=find_gone(earlier, run), closed=self.closed,
            explain=select_orders(judged, OrderVerb.EXPLAIN), resolve=self.rule, limit=6,
        )  # fmt: skip

    # the laws

    def _hear_truth(self) -> None:
        """Note what people who may write have dismissed, as punchlist hears it now."""
        writers = {
            who for who, right in self.state.permissions.items() if right in ("admin", "write")
        }
        for thread in self.state.visible(self.state.threads):
            defects = self._defects_at(thread)
            known = {each.number for run in self.runs for each in self._list_told(run, thread)}
            words = [each for each in thread["comments"] if str(each["id"]) not in self.orders]
            if any(each["author"] in writers and _dismisses(each["body"]) for each in words):
                self.truth.dismissed |= defects
                self.truth.heard |= defects & known
            if thread["resolved"] in writers and self._marks(thread["comments"]):
                self.truth.dismissed |= defects

    def _list_told(self, run: Run, thread: dict[str, Any]) -> Iterator[Defect]:
        """Yield the defects of a thread that the analyzer reported as well: what only a thread says is found again by that."""
        for item in run.items.values():
            said = {each.label for each in item.findings}
            if "" in said and (thread["id"] in said or thread["id"] not in self.threads):
                yield self._defect_of(item)

    def _defects_at(self, thread: dict[str, Any]) -> set[int]:
        if thread["id"] in self.threads:
            return {self.threads[thread["id"]]}
        mark = read_mark(thread["comments"][0]["body"])
        ours = thread["comments"][0]["author"] == self.state.viewer
        return {int(mark.key[:8], 16)} if ours and mark and mark.kind == MarkKind.ITEM else set()

    def judge_change(self) -> None:
        """Judge what a request has changed, at the moment the forge does it."""
        closed, keys = self.seen
        self.look()
        threads = {each["id"]: each for each in self.state.threads}
        for name in self.seen[0] - closed:
            if threads[name].get("reopened") and name in self.closed:
                self.broken.append(f"{name} was resolved again, and a person had opened it")
            for defect in self._defects_at(threads[name]):
                if not self._may_end(defect):
                    self.broken.append(f"{name} about {defect} was resolved without proof or word")
        for name in (closed - self.seen[0]) & threads.keys():
            if self._defects_at(threads[name]) & self.truth.settled:
                self.broken.append(f"{name} was opened again, and was dismissed")
        for key in self.seen[1] - keys:
            if int(key[:8], 16) in self.truth.settled:
                self.broken.append(f"{key} was raised again, and was dismissed")

    def look(self) -> None:
        """Remember what is resolved by us, and which items have threads."""
        closed = {
            each["id"] for each in self.state.threads if each["resolved"] == self.state.viewer
        }
        marks = (read_mark(each["comments"][0]["body"]) for each in self.state.own_threads())
        self.seen = closed, {mark.key for mark in marks if mark and mark.kind == MarkKind.ITEM}

    def _may_end(self, defect: int) -> bool:
        fixed = self.truth.fixed_by.get(defect, set()) & self.commits
        return defect in self.truth.dismissed or bool(fixed) or defect in self.truth.silent

    def check_safe(self) -> None:
        """What holds always, also while things go wrong."""
        self.broken += self.state.problems
        keys = [read_mark(each["comments"][0]["body"]) for each in self.state.own_threads()]
        items = [mark.key for mark in keys if mark and mark.kind == MarkKind.ITEM]
        self._check_once(items, "threads of the item")
        self._check_once(
            [str(mark.kind) for mark in self._marks(self.state.comments)], "comments of the kind"
        )
        for thread in self.state.threads:
            marks = self._marks(thread["comments"][1:])
            self._check_once([f"{mark.kind} {mark.key}" for mark in marks], f"in {thread['id']}")
        assert not self.broken, "\n".join([*self.trail, *self.broken])

    def _marks(self, comments: list[dict[str, Any]]) -> list[Any]:
        ours = [each for each in comments if each["author"] == self.state.viewer]
        return [mark for each in ours if (mark := read_mark(each["body"]))]

    def _check_once(self, names: list[str], what: str) -> None:
        self.broken += [f"two {what} {name}" for name in set(names) if names.count(name) > 1]

    def check_stable(self) -> None:
        """What holds after an answer that met no trouble."""
        if len(self._marks(self.state.comments)) != 1:
            self.broken.append("there is not one summary")
        run, keys = self.runs[-1], follow_keys(self.runs)[self.runs[-1].id]
        if len(set(keys.values())) != len(keys):
            self.broken.append(f"two items have one key: {keys}")
        shown = show_dismissed(run, self.dismissals, landed=self._is_landed(run))
        told = [
            item for item in shown.items.values() if "" in {each.label for each in item.findings}
        ]
        for item in told:
            if (
                self._defect_of(item).number in self.truth.settled
                and item.status is not Status.DISMISSED
            ):
                fixed = item.status is Status.FIXED and self._is_landed(run)
                if not fixed:
                    self.broken.append(
                        f"item {item.number} about {self._defect_of(item).number} is {item.status}, and was dismissed"
                    )

    def check_concluded(self) -> None:
        if self.state.may_check and self.state.head not in {
            head for head, word in self.state.concluded() if word
        }:
            self.broken.append("the check of the head has no conclusion")

    def step(self) -> None:
        do = self.random.choices(
            [self.push, self.rebase, self.drop_commits, self.open_thread, self.order, self.chat, self.resolve, self.reopen,
             self.delete, self.change_rights, self.answer, self.answer_with_faults, self.answer_and_be_killed],
            [6, 4, 1, 6, 12, 3, 4, 4, 4, 2, 10, 8, 12],
        )[0]  # fmt: skip
        self.trail.append(f"{len(self.trail)} {do.__name__}")
        self.look()
        do()
        self.check_safe()


def _dismisses(body: str) -> bool:
    return any(line.startswith("/punchlist dismiss ") for line in body.split("\n"))
