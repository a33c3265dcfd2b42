"""Answer a pull request: decide which run it needs, and make it show what came of it."""

import time

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.forges.pull_commits import fetch_pull, has_same_tree
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.after.dismissals import load_dismissals
from punchlist.app.pulls.connect import find_number, open_forge, parse_pull_name
from punchlist.app.pulls.findings import gather_entries, list_ids, write_findings
from punchlist.app.pulls.history import PullHistory, load_history
from punchlist.app.pulls.land import NO_FIXES, AskedFixes, FixStacks, push_asked
from punchlist.app.pulls.orders import (
    JudgedOrder,
    dismiss_found,
    find_carried,
    find_dismissed,
    judge_orders,
    record_orders,
    select_orders,
)
from punchlist.app.pulls.picture import PullScene, is_landed, make_picture, settle_threads
from punchlist.app.pulls.stack import KeptStack, check_pull
from punchlist.app.session import Session
from punchlist.app.start.request import Request
from punchlist.model.ledger.events import Ordered, Shown
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import ScopeKind
from punchlist.ports.forge.forge import Forge, ShownBoard
from punchlist.settings import PullSettings
from punchlist.views.pulls.board import (
    CheckResult,
    Picture,
    find_closed,
    find_origin,
    make_board,
    make_failed_check,
)
from punchlist.views.pulls.board_text import fit_body
from punchlist.views.pulls.conversation import Conversation, PullRequest
from punchlist.views.pulls.difference import plan_updates
from punchlist.views.pulls.orders import Order, OrderVerb

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
    stack: str = ""
    """The address of the pull request with the fixes, if it is open."""
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
        asked: AskedFixes,
    ) -> None:
        self._session = session
        self._forge = forge
        self.pull = pull
        self._conversation = conversation
        self._asked = asked
        self._shown: CheckResult | None = None
        self._settings: PullSettings = session.settings().settings.pr
        history = load_history(session, pull.url)
        self._judged = judge_orders(conversation, history.orders)

    @classmethod
    async def open(cls, session: Session, name: str, asked: AskedFixes = NO_FIXES) -> "PullAnswer":
        """Read the pull request and fetch its commits. From now on the session is about its head,
        not about what is checked out.
        """
        named = parse_pull_name(name)
        checkout = session.required_checkout
        forge = await open_forge(session.settings().settings, checkout.user_git, named)
        number = named.number or await find_number(session, forge)
        pull = await forge.change(number)
        await check_pull(session, forge, pull, dry=asked.dry)
        await fetch_pull(checkout.user_git, pull, await forge.make_git_login())
        session.checkout = checkout.move_head(pull.head)
        return cls(session, forge, pull, await forge.heard(pull), asked)

    async def plan(self, request: Request) -> PullPlan:
        """Obey what people said, and decide which run is needed: the same one as before as long as
        neither the commits nor what is said have changed.
        """
        session, pull = self._session, self.pull
        history = load_history(session, pull.url)
        workshop = await session.workshop()
        if history.last is not None and not self._asked.dry:
            await self._dismiss(history, workshop)
            history = load_history(session, pull.url)
        settled = await settle_threads(self._scene, history, workshop)
        entries = gather_entries(self._conversation, settled)
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
                committed=True,
                base=pull.base,
                findings=(*request.findings, *files),
                notes="\n".join(filter(None, (request.notes, *words))),
                pull=pull.url,
                orders=tuple(order.id for order in orders),
                force=again,
            )
        )

    async def show(self, run: Run) -> PullResult:
        """Push the fixes, or open a pull request with them, if that is asked for, and make the pull
        request show the run.
        """
        if not run.ended:
            why = f"the run has not ended; `punchlist resume {run.id}` goes on"
            await self._conclude(why)
            return self._result(run, notes=(why,))
        now = self.pull if self._asked.dry else await self._forge.change(self.pull.number)
        if now.head != self.pull.head:
            await self._conclude(MOVED)
            return self._result(run, notes=(MOVED,))
        history = load_history(self._session, self.pull.url)
        if not self._asked.dry:
            known = load_dismissals(self._session.store, self._session.key)
            dismiss_found(self._session, find_carried(run, history, known))
            history = load_history(self._session, self.pull.url)
            await self._dismiss(history, await self._session.workshop(fresh=False))
            history = load_history(self._session, self.pull.url)
        run = self._session.load(run.id)
        pushed = await push_asked(self._scene, self._forge, run, history, self._asked)
        if pushed.tip:
            self.pull = replace(self.pull, head=pushed.tip)
        stacks = FixStacks(self._scene, self._forge, self._asked)
        kept = await stacks.keep(run, history, pushed)
        picture = await make_picture(self._scene, run, history, pushed, kept.link)
        picture = replace(picture, notes=(*picture.notes, *kept.notes))
        result = await self._post(picture, kept)
        return replace(result, pushed=pushed.tip, stack=kept.link.url if kept.link else "")

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

    @property
    def _scene(self) -> PullScene:
        return PullScene(
            session=self._session,
            pull=self.pull,
            conversation=self._conversation,
            judged=self._judged,
            settings=self._settings,
        )

    async def _conclude(self, why: str, commit: str = "") -> None:
        if not self._asked.dry:
            head = commit or self.pull.head
            failed = make_failed_check(head, why)
            await self._forge.conclude(replace(self.pull, head=head), failed)

    async def _dismiss(self, history: PullHistory, workshop: Workshop) -> None:
        last = history.last
        landed = last is not None and await is_landed(self.pull, last, workshop)
        orders = self._select(OrderVerb.DISMISS)
        found = find_dismissed(self._conversation, history, orders, landed=landed)
        dismiss_found(self._session, found)

    def _select(self, *verbs: OrderVerb) -> tuple[Order, ...]:
        return select_orders(self._judged, *verbs)

    async def _is_current(self, run: Run, workshop: Workshop) -> bool:
        """Return whether the run is about the present commits, or its fixes are the head: they, or
        a merge that leads to the very same code.
        """
        pull, change, git = self.pull, run.started.change, workshop.git
        shared = await git.find_line("merge-base", pull.base, pull.head)
        landed = run.landing.published
        if shared != change.base:
            return False
        same = pull.head in (change.head, landed)
        return same or (bool(landed) and await has_same_tree(git, landed, pull.head))

    async def _post(self, picture: Picture, kept: KeptStack) -> PullResult:
        board = make_board(picture)
        if self._asked.dry:
            updates = plan_updates(board, self._conversation)
            replies = (each.body for each in board.replies)
            texts = (board.summary, *(each.body for each in board.threads), *replies)
            shown = ShownBoard(updates=tuple(each.about for each in updates), notes=picture.notes)
            return replace(self._result(picture.run, shown=shown), board=(*texts, *kept.texts))
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
        shown = replace(shown, updates=(*kept.updates, *shown.updates))
        self._record(picture, shown, closed, kept)
        return self._result(picture.run, shown=shown, notes=(*picture.notes, *shown.notes))

    def _record(
        self, picture: Picture, shown: ShownBoard, closed: frozenset[str], kept: KeptStack
    ) -> None:
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
                stack=kept.tip,
                stacked=dict(kept.items),
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
