"""The stacked pull request of a journey: what people do to it, punchlist's branch, and the laws of both."""

import re
from collections.abc import Collection
from typing import Any

from journey_world import STACK, World
from msgspec.structs import replace

from punchlist.app.pulls.orders import show_dismissed
from punchlist.model.ledger.run import Run
from punchlist.views.pulls.board import is_proven
from punchlist.views.pulls.marks import MarkKind, add_mark
from punchlist.views.pulls.stack import hash_key


class Stacks(World):
    """The pull requests from punchlist's branch."""

    def find_stack(self, state: str) -> dict[str, Any] | None:
        ours = [each for each in self.list_stacks() if each["state"] == state]
        return ours[0] if ours else None

    def list_stacks(self) -> list[dict[str, Any]]:
        return [each for each in self.state.pulls if each["author"] == self.state.viewer]

    @staticmethod
    def list_fixes(pull: dict[str, Any]) -> set[str]:
        return set(re.findall(r"\b[0-9a-f]{12}\b", pull["body"].rpartition("punchlist-fixes")[2]))


class StackPeople(Stacks):
    """What people do to it."""

    def merge_stack(self) -> None:
        """A person merges the stacked pull request, as it is or as one commit: the branch has its fixes."""
        pull, tip = self.find_stack("open"), self.state.branches.get(STACK, "")
        if pull is None or tip not in self.truth.offered:
            return
        pull["state"] = "merged"
        last, commits = self.runs[-1], self.truth.offered[tip]
        same = (tip, self.state.head) == (last.landing.published, last.started.change.head)
        if self.random.random() < 0.5:
            self.squashed.add(tip)
        else:
            self.commits.update(commits.values())
        self.commits.add(tip)
        for number, commit in commits.items():
            self.truth.fixed_by.setdefault(number, set()).update({commit, tip})
            self.defects[number - 1].present = False
        if self.random.random() < 0.5:
            del self.state.branches[STACK]
        self.move_head()
        if same:  # the code is what the run has proven
            self.runs[-1] = replace(last, landing=replace(last.landing, tip=self.state.head))

    def close_stack(self) -> None:
        """A person closes the stacked pull request, or opens again what a person closed."""
        if pull := self.find_stack("open"):
            self._refuse(pull)
        elif self.truth.refused and self.state.branches.get(STACK):
            number = self.random.choice(list(self.truth.refused))
            if self.state.judge_opening(STACK, "topic") != "exists":
                self.state.find_pull(str(number))["state"] = "open"
                del self.truth.refused[number]

    def push_on_stack(self) -> None:
        """A person pushes to punchlist's branch, or deletes it, most often after having pushed there."""
        tip, chance = self.state.branches.get(STACK, ""), self.random.random()
        if tip and chance < (0.9 if tip in self.truth.strange else 0.3):
            del self.state.branches[STACK]
            if pull := self.find_stack("open"):  # as forges do
                self._refuse(pull)
        elif tip or chance < 0.2:
            self.hands += 1
            made = f"{self.hands:08x}{'e' * 32}"
            self.truth.strange.add(made)
            self.state.branches[STACK] = made

    def _refuse(self, pull: dict[str, Any]) -> None:
        pull["state"] = "closed"
        self.truth.refused[pull["number"]] = self.list_fixes(pull)

    def forge_stack(self) -> None:
        """Someone else opens a pull request from punchlist's branch, or one that looks like punchlist's."""
        if self.state.branches.get(STACK) and self.state.judge_opening(STACK, "main") == "":
            self.state.open_pull(STACK, "main", "Mine", add_mark("x", MarkKind.STACK, "7"), "guest")


class Branch:
    """Punchlist's branch for its fixes; it judges what is pushed there."""

    def __init__(self, journey: "StackLaws") -> None:
        self._journey = journey

    async def read_tip(self) -> str:
        return self._journey.state.branches.get(STACK, "")

    async def is_ours(self, tip: str, known: Collection[str]) -> bool:
        """As git's: by its hash, or because the pull request has it."""
        merged = bool(known) and tip in self._journey.commits
        return tip in known or tip == self._journey.noted or merged

    async def push(self, tip: str, old: str) -> str:
        self._journey.noted = tip
        if await self.read_tip() != old:
            return "stale info"
        self._journey.judge_push(tip, old)
        self._journey.state.branches[STACK] = tip
        return ""

    async def delete(self, tip: str) -> str:
        if await self.read_tip() != tip:
            return "stale info"
        self._journey.judge_push("", tip)
        del self._journey.state.branches[STACK]
        return ""


class StackLaws(Stacks):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.told_stacks: dict[int, set[str]] = {}
        """By stacked pull request: the fixes that it was last seen with."""
        self.noted = ""
        """What was about to be pushed last: a process that is killed then leaves this."""

    def judge_push(self, tip: str, old: str) -> None:
        """Judge what punchlist pushes to its own branch, at the moment it does."""
        if old in self.truth.strange:
            self.broken.append(f"{old} is a commit of a person, and was pushed over")
        for defect, commit in self.truth.offered.get(tip, {}).items():
            if not commit:
                self.broken.append(f"{tip} has a fix of {defect} that nothing proves")
            if defect in self.truth.settled & self.truth.raised[tip]:
                self.broken.append(f"{tip} has a fix of {defect}, which was dismissed")

    def judge_stacks(self) -> None:
        """Judge the stacked pull requests: there is one, and not with what a person closed, without a word."""
        ours = self.list_stacks()
        if sum(each["state"] == "open" for each in ours) > 1:
            self.broken.append("two stacked pull requests are open")
        for pull in ours:
            told = self.told_stacks.get(pull["number"], set())
            fixes = self.list_fixes(pull) if pull["state"] == "open" else told
            for key in fixes - told if not self.asking else ():
                before = [each for each in self.state.visible(ours) if self._had(each, pull, key)]
                if before and before[-1]["number"] in self.truth.refused:
                    self.broken.append(f"{key} is in {pull['number']}, and a person closed that")
            self.told_stacks[pull["number"]] = fixes

    def _had(self, other: dict[str, Any], pull: dict[str, Any], key: str) -> bool:
        return other["number"] < pull["number"] and key in self.list_fixes(other)

    def may_stack(self) -> bool:
        """Return whether nothing keeps punchlist from its stacked pull request."""
        return self.state.may_open and self.state.branches.get(STACK) not in self.truth.strange

    def check_stack(self, run: Run, keys: dict[int, str], *, landed: bool) -> None:
        """Where it is wished for, a stacked pull request is open with all fixes that it may hold."""
        if not (self.stacking and self.may_stack()):
            return
        shown = show_dismissed(run, self.dismissals, landed=landed)
        proven = [item for item in shown.items.values() if is_proven(item) and not landed]
        found = {hash_key(keys[item.number]) for item in proven}
        ours = self.list_stacks()
        refused = set()
        for key in found:
            had = [each["number"] for each in ours if key in self.list_fixes(each)]
            refused |= {key} if had and had[-1] in self.truth.refused else set()
        there = [self.list_fixes(each) for each in ours if each["state"] == "open"]
        if there != ([found - refused] if found - refused else []):
            self.broken.append(f"the stacked pull request holds {there}, not {found - refused}")
