"""A pull request over time: pushes, people, faults and kills in random order, and laws that hold after each step.

It works on boards, the adapter of a forge and its stand-in; runs are made up, and what they find is known.
"""

import asyncio
from collections.abc import Iterator
from hashlib import sha1
from typing import Any

from forge_kinds import ForgeKind
from forge_standin import ForgeServer
from forge_state import LOST, Fault
from journey_laws import Laws
from journey_stacks import Branch, StackPeople
from journey_world import Defect, People
from msgspec.structs import replace

from made import STARTED, made_run
from punchlist.app.pulls.findings import gather_entries, list_ids
from punchlist.app.pulls.history import (
    PullHistory,
    find_ended,
    find_gone,
    find_settled,
    follow_keys,
)
from punchlist.app.pulls.orders import (
    FoundDismissal,
    find_carried,
    find_dismissed,
    judge_orders,
    select_orders,
    show_dismissed,
)
from punchlist.app.pulls.push import ChosenFixes
from punchlist.app.pulls.stack import KeptStack, StackKeeper, StackWish
from punchlist.errors import ToolError
from punchlist.model.finding.finding import Context, Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Attempt, Fact, Item, Status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger.events import Shown
from punchlist.model.ledger.run import Landing, LatestReview, Reviewing, Run
from punchlist.model.patch.change import LineRange
from punchlist.views.pulls.board import (
    Picture,
    find_closed,
    is_proven,
    make_board,
    make_failed_check,
    own_threads,
)
from punchlist.views.pulls.conversation import Conversation, PullRequest
from punchlist.views.pulls.diff_table import DiffTable
from punchlist.views.pulls.orders import OrderVerb

SLOW = Fault(429, headers={"Retry-After": "30"}, message="Too Many Requests")
BUSY = Fault(200, message="API rate limit exceeded")
"""How GitHub's GraphQL says it."""


class Fixes:
    """Knows which commits the head has, whatever a rebase calls them."""

    def __init__(self, commits: set[str], squashed: set[str]) -> None:
        self._commits = commits
        self._squashed = squashed

    async def has_fix(self, commit: str) -> bool:
        return commit in self._commits

    async def has_squashed(self, since: str, tip: str) -> bool:
        return tip in self._squashed


class Process:
    """One that answers the pull request: what it has of it in memory."""

    def __init__(self, forge: Any, pull: PullRequest) -> None:
        self.forge = forge
        self.pull = pull


class Journey(People, StackPeople, Laws):
    def __init__(self, kind: ForgeKind, server: ForgeServer, seed: int) -> None:
        super().__init__(kind, server, seed)
        self.state.watch = self.judge_change
        self.judged: Any = ()
        self.push()

    def answer(self) -> None:
        """Answer without trouble; what is then shown is stable."""
        self.state.denied = 0
        assert self._work() == ["done"]
        self.doubled = False
        self.check_stable()
        before = list(self.state.writes)
        anew = {"again", "fix"} if self.may_stack() else {"again", "fix", "stack"}
        if not any(each.order.verb in anew for each in self._list_obeyed()):
            assert self._work() == ["done"]
            if self.state.writes != before:
                self.broken.append(f"a second answer wrote {self.state.writes[len(before) :]}")

    def answer_with_faults(self) -> None:
        count, choice = self.random.randrange(1, 5), self.random.choice
        faults = [None, LOST, Fault(502), Fault(503, effect=True), self.server.limited, SLOW]
        self.state.faults[:] = [choice(faults) for _ in range(count * 2)]
        trouble = [*[None] * 9, Fault(502), self.server.limited, SLOW]
        trouble += [BUSY] if self.kind.name == "github" else []
        self.state.read_faults[:] = [choice(trouble) for _ in range(count * 10)]
        self.state.busy = self.random.randrange(4)
        self._work()

    def answer_and_be_killed(self) -> None:
        fault = Fault(500, effect=self.random.random() < 0.5, kill=True)
        self.state.faults[:] = [None] * self.random.randrange(6) + [fault]
        self._work()

    def answer_with_lag(self) -> None:
        """The forge's lists do not show yet what was posted last."""
        self.state.lag, self.doubled = self.random.randrange(1, 8), True
        self._work()

    def answer_by_two(self) -> None:
        """Two servers that share a ledger answer at the same time."""
        self.doubled = True
        self._work(2)

    def _work(self, processes: int = 1) -> list[str]:
        self.clock.now += 600
        self.look()
        self.asking = False
        self.state.processes = processes
        try:
            ended = asyncio.run(self._be_processes(processes))
        finally:
            self.state.faults.clear()
            self.state.read_faults.clear()
            self.state.lag = self.state.busy = 0
        if "killed" not in ended:
            self.check_concluded()
        return ended

    async def _be_processes(self, count: int) -> list[str]:
        """Answer the pull request as processes of their own do; return how each ended."""
        tasks = [asyncio.create_task(self._answer_once()) for _ in range(count)]
        loop = asyncio.get_running_loop()
        self.state.release.clear()
        self.state.kill = lambda: loop.call_soon_threadsafe(tasks[0].cancel)
        try:
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            self.state.release.set()
        for each in ended:
            if isinstance(each, Exception):
                raise each
        return ["killed" if isinstance(each, BaseException) else each for each in ended]

    async def _answer_once(self) -> str:
        forge = self.kind.open(self.server, self.clock.pacing)
        try:
            process = Process(forge, await forge.change(7))
            said = await forge.heard(process.pull)
        except ToolError as error:
            self.trail.append(f"  nothing heard: {error}")
            return await self._conclude(Process(forge, await self._describe(forge)), str(error))
        self.hear_truth(said)
        judged = self.judged = judge_orders(said, self.orders)
        self.check_judged(judged)
        try:
            await self._show(process, said, judged)
        except ToolError as error:
            self.trail.append(f"  {error}")
            return await self._conclude(process, str(error))
        self.orders |= {each.order.id: each.event for each in judged}
        self.truth.settled |= self.truth.heard
        return "done"

    async def _describe(self, forge: Any) -> PullRequest:
        self.state.read_faults.clear()
        self.clock.now += 600
        found: PullRequest = await forge.change(7)
        return found

    async def _conclude(self, process: Process, why: str) -> str:
        self.state.faults.clear()
        self.state.read_faults.clear()
        self.clock.now += 600
        await process.forge.conclude(process.pull, make_failed_check(process.pull.head, why))
        return "failed"

    def _list_obeyed(self) -> tuple[Any, ...]:
        return tuple(each for each in self.judged if not each.refused)

    async def _show(self, process: Process, said: Conversation, judged: Any) -> None:
        history = self._history()
        words = select_orders(judged, OrderVerb.DISMISS)
        if self.runs:
            landed = self._is_landed(self.runs[-1])
            self._dismiss(find_dismissed(said, history, words, landed=landed))
        fresh = {each.order.id: each.event for each in judged}
        past = replace(history, orders={**history.orders, **fresh})
        settled = await find_settled(past, Fixes(self.commits, self.squashed))
        again = bool(select_orders(judged, OrderVerb.AGAIN, OrderVerb.FIX))
        run = self._find_run(said, settled, again=again)
        history = self._history()
        self._dismiss(find_carried(run, history, self.dismissals))
        self._dismiss(find_dismissed(said, history, words, landed=self._is_landed(run)))
        run = self.runs[-1]
        if select_orders(judged, OrderVerb.APPLY) and not self._is_landed(run):
            process.pull = self._push_fixes(run, process.pull)
        kept = await self._keep_stack(process, run, judged)
        picture = await self._picture(run, process.pull, said, judged)
        await self._post(process, replace(picture, stack=kept.link, notes=kept.notes))
        if kept.tip:
            shown = Shown(pull="", head="", updates=1, stack=kept.tip, stacked=dict(kept.items))
            self.stacks[run.id] = shown
            self.pushed_tips.add(kept.tip)

    async def _keep_stack(self, process: Process, run: Run, judged: Any) -> KeptStack:
        asked = bool(select_orders(judged, OrderVerb.STACK))
        always = self.stacking or self._history().wants_stack
        if not (asked or always or self.stacks):
            return KeptStack()
        self.asking = asked or (self.asking and self.state.processes > 1)
        landed = self._is_landed(run)
        shown = show_dismissed(run, self.dismissals, landed=landed)

        async def choose(items: frozenset[int], _: frozenset[int]) -> ChosenFixes:
            return self._choose_fixes(shown, items)

        history = self._history()
        keeper = StackKeeper(process.forge, Branch(self), process.pull, history.tips)
        held = replace(shown, items={}) if landed else shown
        wish = StackWish(always=always, asked=asked)
        return await keeper.keep(held, follow_keys(self.runs)[run.id], choose, wish)

    def _choose_fixes(self, run: Run, items: frozenset[int]) -> ChosenFixes:
        """Make the commits of some items, or take the run's branch if these are all."""
        fixed = {item.number: item for item in run.find_items(Status.FIXED)}
        made = {number: fixed[number].commit for number in sorted(items)}
        original = next(each for each in self.runs if each.id == run.id)
        whole = items == {item.number for item in original.find_items(Status.FIXED)}
        name = run.landing.published if whole else sha1(repr(made).encode()).hexdigest()
        self.truth.offered[name] = {
            self.defect_of(item).number: item.commit if is_proven(item) else ""
            for item in map(fixed.__getitem__, made)
        }
        told = (fixed[n] for n in made if "" in {each.label for each in fixed[n].findings})
        self.truth.raised[name] = {self.defect_of(item).number for item in told}
        return ChosenFixes(tip=name, items=made)

    async def _post(self, process: Process, picture: Picture) -> None:
        forge, pull, board = process.forge, process.pull, make_board(picture)
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
        return PullHistory(
            runs=tuple(self.runs),
            orders=dict(self.orders),
            stacks=dict(self.stacks),
            tips=frozenset(self.pushed_tips),
        )

    def _dismiss(self, found: Iterator[FoundDismissal]) -> None:
        for _, item, said in list(found):
            self.dismissals.setdefault(item.fingerprint, said)

    def _is_landed(self, run: Run) -> bool:
        return run.landing.published in self.commits

    def _push_fixes(self, run: Run, pull: PullRequest) -> PullRequest:
        """Push the run's branch."""
        self.move_head()
        self.commits.add(run.landing.published)
        for item in run.find_items(Status.FIXED):
            self.commits.add(item.commit)
            defect = self.defect_of(item)
            if is_proven(item):
                self.truth.fixed_by.setdefault(defect.number, set()).add(item.commit)
                defect.present = False
        self.runs[-1] = replace(run, landing=replace(run.landing, tip=self.state.head))
        return replace(pull, head=self.state.head)

    def _is_current(self, run: Run) -> bool:
        change = run.started.change
        return self.state.head in (change.head, run.landing.tip) and change.base == self.state.base

    def _find_run(self, said: Conversation, settled: Any, *, again: bool) -> Run:
        """Return the last run if nothing has changed, else a new one."""
        entries = gather_entries(said, settled)
        if self.runs and not again:
            last = self.runs[-1]
            known = {each.label for item in last.items.values() for each in item.findings}
            if self._is_current(last) and list_ids(entries) <= known:
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
            told = each.present and not broken
            each.told = (each.path, each.code) if told else each.told
            findings = [self._finding(each, "ruff", "")] if told else []
            findings += [
                self._finding(each, f"file:{who}", label)
                for who, label in labels.get(each.number, ())
            ]
            if findings:
                number = len(items) + 1
                items[number] = self._make_item(number, each, tuple(findings))
        silent = set() if broken else {each.number for each in self.defects if not each.present}
        if self.state.processes > 1 and self.runs and self._is_current(self.runs[-1]):
            silent |= (
                self.truth.silent
            )  # the other server shows its own run, whose reviewer has looked
        self.truth.silent = silent
        name = f"run{len(self.runs)}"
        change = replace(
            STARTED.change, head=self.state.head, base=self.state.base, renamed=dict(self.renamed)
        )
        review = LatestReview("ruff", self.state.head, failed="it crashed" if broken else "")
        return made_run(
            name, items=items, ended="leftovers", started=replace(STARTED, change=change, reviewers=("ruff",)),
            reviewing=Reviewing(reviews={"ruff": review}), landing=Landing(published=sha1(name.encode()).hexdigest()),
        )  # fmt: skip

    def _finding(self, defect: Defect, source: str, label: str) -> Finding:
        return Finding(
            id=f"{source} {defect.number} {label}", spot=Spot(defect.path, defect.line), label=label, source=source,
            title=f"Defect {defect.number}", severity=self.random.choice(list(Severity)), rule=f"F{defect.number}",
            context=Context() if label else _show_code(defect),
        )  # fmt: skip

    def _make_item(self, number: int, defect: Defect, findings: tuple[Finding, ...]) -> Item:
        others = [Status.FILED, Status.DEFERRED, Status.BLOCKED]
        status = self.random.choice([*[Status.FIXED] * 3, *others])
        commit = f"{self.random.getrandbits(160):040x}" if status is Status.FIXED else ""
        attempts: tuple[Attempt, ...] = ()
        if known := self.dismissals.get(defect.fingerprint):
            status, attempts = Status.DISMISSED, (Attempt(1, Fact.DISMISSED, known.by, known.why),)
        proof = self.random.choice([ProofClass.RECHECKED, ProofClass.CLAIM])
        return Item(
            number=number, fingerprint=defect.fingerprint, findings=findings, status=status, attempts=attempts,
            proofs=(Proof(proof, "said"),) if status is Status.FIXED else (), commit=commit, made_in=commit,
        )  # fmt: skip

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
            keys=keys[run.id], settled=await find_settled(past, Fixes(self.commits, self.squashed)), gone=find_gone(earlier, run),
            ended=await find_ended(past, run, [key for key, _ in own_threads(said)], Fixes(self.commits, self.squashed)), closed=self.closed,
            explain=select_orders(judged, OrderVerb.EXPLAIN), resolve=self.rule, limit=6,
        )  # fmt: skip

    def step(self) -> None:
        steps = {
            self.push: 6, self.rebase: 4, self.drop_commits: 1, self.rename_file: 1, self.delete_file: 1, self.outdate: 2,
            self.open_thread: 6, self.order: 12, self.hide_order: 3, self.forge_mark: 2, self.resolve: 4, self.reopen: 4,
            self.delete: 3, self.edit: 3, self.change_rights: 2, self.answer: 10, self.answer_with_faults: 8,
            self.answer_and_be_killed: 10, self.answer_with_lag: 2, self.answer_by_two: 3, self.merge_stack: 4, self.close_stack: 4,
            self.push_on_stack: 4, self.forge_stack: 1,
        }  # fmt: skip
        do = self.random.choices(list(steps), list(steps.values()))[0]
        self.trail.append(f"{len(self.trail)} {do.__name__}")
        self.look()
        do()
        self.check_safe()


def _show_code(defect: Defect) -> Context:
    """The code at a defect, and round it."""
    near = f"round_{defect.number}_in_version_{defect.code}_" * 3
    return Context(symbol=f"f{defect.number}", span=f"bad{defect.number}", before=near, after=near)
