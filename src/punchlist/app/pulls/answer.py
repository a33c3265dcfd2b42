"""Answer a pull request: decide which run it needs, and make it show what came of it."""

import time
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.forges.pull_commits import (
    FixFinder,
    fetch_pull,
    push_fixes,
    read_fixes,
    read_pull_diff,
)
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.after.dismissals import load_dismissals
from punchlist.app.drive.budget import NO_AGENTS
from punchlist.app.pulls.connect import find_number, open_forge, parse_pull_name
from punchlist.app.pulls.findings import gather_entries, list_ids, write_findings
from punchlist.app.pulls.history import (
    PullHistory,
    find_gone,
    find_settled,
    follow_keys,
    load_history,
)
from punchlist.app.pulls.orders import (
    JudgedOrder,
    dismiss_found,
    find_carried,
    find_dismissed,
    find_ordered,
    judge_orders,
    record_orders,
    select_orders,
    show_dismissed,
)
from punchlist.app.pulls.push import ChosenFixes, choose_fixes
from punchlist.app.session import Session
from punchlist.app.start.request import Request
from punchlist.errors import UsageError
from punchlist.model.item.item import Status
from punchlist.model.ledger.events import Ordered, Shown
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import ScopeKind
from punchlist.ports.forge.forge import Forge, ShownBoard
from punchlist.settings import PullSettings
from punchlist.views.pulls.board import (
    CheckResult,
    Picture,
    Settled,
    find_closed,
    find_origin,
    make_board,
    make_failed_check,
)
from punchlist.views.pulls.board_text import fit_body
from punchlist.views.pulls.conversation import Conversation, PullRequest
from punchlist.views.pulls.diff_table import parse_table
from punchlist.views.pulls.difference import plan_updates
from punchlist.views.pulls.orders import Order, OrderVerb
from punchlist.views.pulls.suggestion import Suggestion, make_suggestion

_FORK = "the fixes were not pushed: the branch is in a fork, whose author can apply the suggestions"
MOVED = "the pull request has moved on to another commit; nothing was posted"


class PullPlan(Struct, frozen=True):
    """What the pull request needs: a run that is there, one to resume, or a new one."""

    run: Run | None = None
    resume: str = ""
    request: Request | None = None


class PullResult(Struct, frozen=True, kw_only=True):
    """What was done on the pull request, or, in a dry run, what would be."""

    pull: str
    head: str
    run: str
    updates: tuple[str, ...] = ()
    pushed: str = ""
    orders: tuple[Ordered, ...] = ()
    notes: tuple[str, ...] = ()
    board: tuple[str, ...] = ()
    """In a dry run: the texts that would be posted."""


class PullAnswer:
    """One pull request while it is answered; `open` makes it."""

    def __init__(
        self,
        session: Session,
        forge: Forge,
        pull: PullRequest,
        conversation: Conversation,
        *,
        dry: bool,
    ) -> None:
        self._session = session
        self._forge = forge
        self.pull = pull
        self._conversation = conversation
        self._dry = dry
        self._shown: CheckResult | None = None
        self._settings: PullSettings = session.settings().settings.pr
        history = load_history(session, pull.url)
        self._judged = judge_orders(conversation, history.orders)

    @classmethod
    async def open(cls, session: Session, name: str, *, dry: bool = False) -> "PullAnswer":
        """Read the pull request and fetch its commits. From now on the session is about its head,
        not about what is checked out.
        """
        named = parse_pull_name(name)
        checkout = session.required_checkout
        forge = await open_forge(session.settings().settings, checkout.user_git, named)
        number = named.number or await find_number(session, forge)
        pull = await forge.change(number)
        if not pull.open:
            raise UsageError(f"{pull.url} is closed", hint="reopen it, or name another one")
        await fetch_pull(checkout.user_git, pull, await forge.make_git_login())
        session.checkout = checkout.move_head(pull.head)
        return cls(session, forge, pull, await forge.heard(pull), dry=dry)

    async def plan(self, request: Request) -> PullPlan:
        """Obey what people said, and decide which run is needed: the same one as before as long as
        neither the commits nor what is said have changed.
        """
        session, pull = self._session, self.pull
        history = load_history(session, pull.url)
        workshop = await session.workshop()
        if history.last is not None and not self._dry:
            await self._dismiss(history, workshop)
            history = load_history(session, pull.url)
        entries = gather_entries(self._conversation, await self._find_settled(history, workshop))
        last = history.last
        # A process that is killed after the run has not recorded the order that it obeyed.
        obeyed = {comment for run in history.runs for comment in run.started.orders}
        orders = self._select(OrderVerb.AGAIN, OrderVerb.FIX)
        again = request.force or any(order.id not in obeyed for order in orders)
        if last is not None and not last.ended and last.started.change.head == pull.head:
            return PullPlan(resume=last.id)
        if last is not None and not again and await self._is_current(last, workshop):
            said = {find_origin(each) for item in last.items.values() for each in item.findings}
            if list_ids(entries) <= said and request.workflow in ("", last.started.workflow_name):
                return PullPlan(run=last)
        files = write_findings(session.home, entries, self._conversation)
        words = [each.words for each in orders if each.verb == OrderVerb.FIX and each.words]
        return PullPlan(
            request=replace(
                request,
                kind=ScopeKind.BRANCH,
                base=pull.base,
                findings=(*request.findings, *files),
                notes="\n".join(filter(None, (request.notes, *words))),
                pull=pull.url,
                orders=tuple(order.id for order in orders),
                force=again,
            )
        )

    async def show(self, run: Run, *, push: bool = False) -> PullResult:
        """Push the fixes if that is asked for, and make the pull request show the run."""
        if not run.ended:
            why = "the run has not ended; punchlist resume goes on"
            await self._conclude(why)
            return self._result(run, notes=(why,))
        if not self._dry and (await self._forge.change(self.pull.number)).head != self.pull.head:
            await self._conclude(MOVED)
            return self._result(run, notes=(MOVED,))
        history = load_history(self._session, self.pull.url)
        if not self._dry:
            known = load_dismissals(self._session.store, self._session.key)
            dismiss_found(self._session, find_carried(run, history, known))
            history = load_history(self._session, self.pull.url)
            await self._dismiss(history, await self._session.workshop(fresh=False))
            history = load_history(self._session, self.pull.url)
        run = self._session.load(run.id)
        pushed = await self._push(run, history, wanted=push)
        picture = await self._picture(run, history, pushed)
        return await self._post(picture, pushed.tip)

    def last_run(self) -> Run:
        """Return the newest run about the pull request."""
        return load_history(self._session, self.pull.url).runs[-1]

    async def fail(self, why: str, commit: str = "") -> None:
        """Conclude the check of a run that could not be finished, on the head or that commit."""
        await self._conclude(f"the run failed: {why}", commit)

    async def pass_verdict(self, commit: str) -> None:
        """Conclude the check of a commit that a merge queue made of the pull request: as that of
        the reviewed head, which was shown before.
        """
        if self._shown is not None:
            said = f"Of the commit {self.pull.head[:10]}, which is in the merge queue."
            told = f"{said}\n\n{self._shown.summary}"
            check = replace(self._shown, head=commit, summary=fit_body(told), annotations=())
            await self._forge.conclude(replace(self.pull, head=commit), check)

    async def _conclude(self, why: str, commit: str = "") -> None:
        if not self._dry:
            head = commit or self.pull.head
            failed = make_failed_check(head, why)
            await self._forge.conclude(replace(self.pull, head=head), failed)

    async def _dismiss(self, history: PullHistory, workshop: Workshop) -> None:
        landed = history.last is not None and await self._is_landed(history.last, workshop)
        orders = self._select(OrderVerb.DISMISS)
        found = find_dismissed(self._conversation, history, orders, landed=landed)
        dismiss_found(self._session, found)

    async def _is_landed(self, run: Run, workshop: Workshop) -> bool:
        tip = run.landing.published
        return bool(tip) and await workshop.git.is_ancestor(tip, self.pull.head)

    def _select(self, *verbs: OrderVerb) -> tuple[Order, ...]:
        return select_orders(self._judged, *verbs)

    async def _is_current(self, run: Run, workshop: Workshop) -> bool:
        """Return whether the run is about the present commits, or its fixes are the head."""
        pull, change = self.pull, run.started.change
        shared = await workshop.git.find_line("merge-base", pull.base, pull.head)
        landed = run.landing.published
        return shared == change.base and pull.head in (change.head, landed)

    async def _find_settled(self, history: PullHistory, workshop: Workshop) -> dict[str, Settled]:
        finder = FixFinder(workshop, self.pull.base, self.pull.head)
        fresh = {each.order.id: each.event for each in self._judged}
        return await find_settled(replace(history, orders={**history.orders, **fresh}), finder)

    async def _push(self, run: Run, history: PullHistory, *, wanted: bool) -> ChosenFixes:
        """Push proven fixes if a person asks for them; return what was pushed, and what to say."""
        orders = self._select(OrderVerb.APPLY)
        tip, workshop = run.landing.published, await self._session.workshop(fresh=False)
        if not (wanted or orders) or not tip or await self._is_landed(run, workshop):
            return ChosenFixes()
        if self.pull.fork and not self.pull.push_to:
            return ChosenFixes(notes=(_FORK,))
        every = wanted or any(not order.thread for order in orders)
        asked = None if every else find_ordered(self._conversation, history, orders)
        known = load_dismissals(self._session.store, self._session.key)
        name = f"refs/punchlist/pull/{self.pull.number}/fixes"
        shown = show_dismissed(run, known, landed=False)
        chosen = await choose_fixes(shown, workshop, asked, name)
        if self._dry or not chosen.tip:
            would = f"{chosen.tip[:10]} would be pushed to {self.pull.head_name}"
            return ChosenFixes(notes=(*chosen.notes, *([would] if chosen.tip else [])))
        git = self._session.required_checkout.user_git
        login = await self._forge.make_git_login()
        if why := await push_fixes(git, self.pull, chosen.tip, login):
            return ChosenFixes(notes=(*chosen.notes, f"the fixes could not be pushed: {why}"))
        self.pull = replace(self.pull, head=chosen.tip)
        return chosen

    async def _picture(self, run: Run, history: PullHistory, pushed: ChosenFixes) -> Picture:
        workshop, pull = await self._session.workshop(fresh=False), self.pull
        keys = follow_keys(history.runs)
        earlier = [each for each in history.runs if each.id != run.id]
        landed = await self._is_landed(run, workshop)
        known = load_dismissals(self._session.store, self._session.key)
        settled = await self._find_settled(replace(history, runs=tuple(earlier)), workshop)
        return Picture(
            pull=pull,
            run=_name_pushed(show_dismissed(run, known, landed=landed), pushed.items),
            table=parse_table(await read_pull_diff(workshop, pull.base, pull.head)),
            conversation=self._conversation,
            landed=landed,
            applied=frozenset(pushed.items),
            suggestions={} if landed else await self._make_suggestions(run, workshop),
            keys=keys[run.id],
            settled=settled,
            gone=find_gone(earlier, run),
            closed=history.closed,
            explain=select_orders(self._judged, OrderVerb.EXPLAIN),
            resolve=self._settings.resolve,
            # Lines of the head are other ones now: the next run begins new threads.
            limit=0 if pushed.items else self._settings.comments,
            notes=(*pushed.notes, *_list_limits(run)),
        )

    async def _make_suggestions(self, run: Run, workshop: Workshop) -> dict[int, Suggestion]:
        fixed = run.find_items(Status.FIXED)
        files = await read_fixes(workshop, (item.made_in for item in fixed), self.pull.head)
        made = {commit: make_suggestion(file) for commit, file in files.items()}
        takes = self.pull.markup.takes_suggestion
        return {
            item.number: found
            for item in fixed
            if (found := made.get(item.made_in)) is not None and takes(found.text)
        }

    async def _post(self, picture: Picture, pushed: str) -> PullResult:
        board = make_board(picture)
        if self._dry:
            updates = plan_updates(board, self._conversation)
            replies = (each.body for each in board.replies)
            texts = (board.summary, *(each.body for each in board.threads), *replies)
            shown = ShownBoard(updates=tuple(each.about for each in updates), notes=picture.notes)
            return replace(self._result(picture.run, shown=shown), board=texts)
        shown = await self._forge.show(picture.pull, board)
        self._shown = board.check
        if shown.unplaced or any(each.startswith("thread ") for each in shown.updates):
            # Once more: the summary links to the threads, and tells what has none.
            heard = await self._forge.heard(picture.pull)
            board = make_board(replace(picture, unplaced=shown.unplaced, conversation=heard))
            more = await self._forge.show(picture.pull, board)
            shown = replace(shown, updates=(*shown.updates, *more.updates))
            picture = replace(picture, conversation=heard)
        closed = find_closed(board, picture.conversation, shown.updates)
        self._record(picture, shown, closed)
        notes = (*picture.notes, *shown.notes)
        return replace(self._result(picture.run, shown=shown, notes=notes), pushed=pushed)

    def _record(self, picture: Picture, shown: ShownBoard, closed: frozenset[str]) -> None:
        """Write orders and updates to the ledger. That comes last: what was posted and not
        recorded is found on the pull request again.
        """
        session, run = self._session, picture.run
        record_orders(session, run.id, self._judged)
        if shown.updates:
            event = Shown(
                pull=self.pull.url,
                head=self.pull.head,
                updates=len(shown.updates),
                notes=shown.notes,
                closed=tuple(sorted(closed)),
                applied={n: run.items[n].commit for n in sorted(picture.applied)},
            )
            with session.state.leases.acquire(run.id):
                key = f"shown {session.load(run.id).seq}"
                session.store.append(run.id, "people", key, event, time.time())

    def _result(
        self, run: Run, *, shown: ShownBoard | None = None, notes: tuple[str, ...] = ()
    ) -> PullResult:
        judged: tuple[JudgedOrder, ...] = self._judged
        return PullResult(
            pull=self.pull.url,
            head=self.pull.head,
            run=run.id,
            updates=shown.updates if shown else (),
            orders=tuple(each.event for each in judged),
            notes=notes or (shown.notes if shown else ()),
        )


def _list_limits(run: Run) -> list[str]:
    """Return which budgets kept agents from being asked."""
    notes = [each for each in run.started.change.notes if each.startswith(NO_AGENTS)]
    return [*notes, *([f"Stopped: {run.halted}"] if run.halted else [])]


def _name_pushed(run: Run, commits: Mapping[int, str]) -> Run:
    """Return the run with the commits that were pushed in place of those on its branch."""
    named = {n: replace(run.items[n], commit=commit) for n, commit in commits.items()}
    return replace(run, items={**run.items, **named})
