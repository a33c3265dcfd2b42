"""The laws of a journey, judged by what is true of its code and by what people said, and never by what punchlist believes."""

from collections.abc import Iterator
from typing import Any

from journey_stacks import StackLaws
from journey_world import Defect

from punchlist.app.pulls.history import follow_keys
from punchlist.app.pulls.orders import show_dismissed
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.run import Run
from punchlist.views.pulls.conversation import Conversation
from punchlist.views.pulls.marks import MarkKind, read_mark


class Laws(StackLaws):
    """What is said twice is a breach at once, with one exception (`doubled`): no forge has a key that makes a request count once.
    So two processes that read the same list and then post, and one that is killed before a lagging list shows what it has posted,
    cannot know of each other. The next answer that meets no trouble has to leave one of each.
    """

    doubled: bool = False

    def hear_truth(self, said: Conversation) -> None:
        """Note what people who may write have dismissed, as far as the forge's lists have shown it."""
        writers = self.list_writers()
        shown = {each.id for thread in said.threads for each in thread.comments}
        for thread in self.state.threads:
            words = [each for each in thread["comments"] if str(each["id"]) in shown]
            fresh = [each for each in words if str(each["id"]) not in self.orders]
            defects = self.defects_at(thread)
            known = {each.number for run in self.runs for each in self._list_told(run, thread)}
            if any(each["author"] in writers and self._dismisses(each) for each in fresh):
                self.truth.dismissed |= defects
                self.truth.heard |= defects & known
            if words and thread["resolved"] in writers and self._marks(words):
                self.truth.dismissed |= defects

    def _dismisses(self, comment: dict[str, Any]) -> bool:
        given = str(comment["id"]) in self.truth.orders
        return given and "/punchlist dismiss " in comment["body"]

    def _list_told(self, run: Run, thread: dict[str, Any]) -> Iterator[Defect]:
        """Yield the defects of a thread that the analyzer reported as well. A dismissal of what only a thread says ends that thread:
        where people begin another one, they say it anew, and it is answered.
        """
        for item in run.items.values():
            said = {each.label for each in item.findings}
            if "" in said and (thread["id"] in said or thread["id"] not in self.threads):
                yield self.defect_of(item)

    def defects_at(self, thread: dict[str, Any]) -> set[int]:
        if thread["id"] in self.threads:
            return {self.threads[thread["id"]]}
        mark = read_mark(thread["comments"][0]["body"])
        ours = thread["comments"][0]["author"] == self.state.viewer
        return {int(mark.key[:8], 16)} if ours and mark and mark.kind == MarkKind.ITEM else set()

    def defect_of(self, item: Item) -> Defect:
        return self.defects[int(item.fingerprint[:8], 16) - 1]

    def judge_change(self) -> None:
        """Judge what a request has changed, at the moment the forge does it."""
        closed, keys = self.seen
        self.judge_stacks()
        self.look()
        threads = {each["id"]: each for each in self.state.threads}
        for name in self.seen[0] - closed:
            if threads[name].get("reopened") and name in self.closed:
                self.broken.append(f"{name} was resolved again, and a person had opened it")
            for defect in self.defects_at(threads[name]):
                if not self._may_end(defect, ours=name not in self.threads):
                    self.broken.append(f"{name} about {defect} was resolved without proof or word")
        for name in (closed - self.seen[0]) & threads.keys():
            if self.defects_at(threads[name]) & self.truth.settled:
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

    def _may_end(self, defect: int, *, ours: bool) -> bool:
        """Return whether a thread about a defect may be resolved: after a person's word, with a proven fix in the head, or, if it is
        ours, once the analyzer that reported it has looked again and is silent.
        """
        fixed = self.truth.fixed_by.get(defect, set()) & self.commits
        silent = ours and defect in self.truth.silent
        return defect in self.truth.dismissed or bool(fixed) or silent

    def check_safe(self) -> None:
        """What holds always, also while things go wrong."""
        self.broken += self.state.problems
        if not self.doubled:
            self._check_single()
        assert not self.broken, "\n".join([*self.trail, *self.broken])

    def _check_single(self) -> None:
        keys = [read_mark(each["comments"][0]["body"]) for each in self.state.own_threads()]
        items = [mark.key for mark in keys if mark and mark.kind == MarkKind.ITEM]
        self._check_once(items, "threads of the item")
        self._check_once(
            [str(mark.kind) for mark in self._marks(self.state.comments)], "comments of the kind"
        )
        for thread in self.state.threads:
            marks = self._marks(thread["comments"][1:])
            self._check_once([f"{mark.kind} {mark.key}" for mark in marks], f"in {thread['id']}")

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
        landed = run.landing.published in self.commits
        for item in show_dismissed(run, self.dismissals, landed=landed).items.values():
            told = "" in {each.label for each in item.findings}
            ended = item.status is Status.DISMISSED or (item.status is Status.FIXED and landed)
            if told and not ended and self.defect_of(item).number in self.truth.settled:
                about = f"item {item.number} about {self.defect_of(item).number}"
                self.broken.append(f"{about} is {item.status}, and was dismissed")
        self._check_orders()
        self.check_stack(run, keys, landed=landed)

    def _check_orders(self) -> None:
        """Every order is recorded, also one that is not obeyed; what only looks like one is none."""
        said = {str(each["id"]) for each in self.list_comments()}
        for name in self.truth.orders.keys() & said - self.orders.keys():
            self.broken.append(f"the order {name} of {self.truth.orders[name]} is not recorded")
        for name in self.truth.no_orders & self.orders.keys():
            self.broken.append(f"{name} is no order, and was taken for one")

    def check_judged(self, judged: Any) -> None:
        """Only people who may write now are obeyed."""
        writers = self.list_writers()
        for each in judged:
            if not each.refused and each.order.by not in writers:
                self.broken.append(f"{each.order.by} may not write, and was obeyed")

    def check_concluded(self) -> None:
        if self.state.may_check and self.state.head not in {
            head for head, word in self.state.concluded() if word
        }:
            self.broken.append("the check of the head has no conclusion")
