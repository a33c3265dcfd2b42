"""Finds the batches that turn a gate red: a linter or formatter of the project, or its doctests."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from punchlist.model.checks.check import Check, CheckResult, CheckVerdict, compare_results
from punchlist.model.checks.group_testing import split_culprits
from punchlist.model.item.batch import Batch
from punchlist.model.ledger.run import Run
from punchlist.model.patch.line_table import LineTable
from punchlist.model.patch.offset_map import OffsetMap
from punchlist.model.patch.patch import Patch
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import check_view, load_baseline, usable_gates
from punchlist.steps.judging.gates.formatting import format_patches

LOOKS, SECONDS = 100, 900
"""What one search may take; what is not cleared by then is refused."""
_SHOWN = 300
_ELSEWHERE = ""
"""Stands for a red gate that names no file."""
_LATE = " (the search for the cause took too long)"


class GateCulprits(NamedTuple):
    """By batch, why it is refused, or its patch with what formatters change after it; and the
    number of gate runs.
    """

    refused: dict[int, str]
    runs: int
    formatted: Mapping[int, Patch] = MappingProxyType({})


class _Part(NamedTuple):
    """Batches that share files, and these files; None: whatever is red is about them."""

    numbers: tuple[int, ...]
    paths: frozenset[str] | None

    def find_red(self, red: Mapping[str, str]) -> list[str]:
        return [path for path in red if self.paths is None or path in self.paths]


async def judge_by_gates(
    batches: Sequence[Batch], run: Run, world: World, *, may_format: bool
) -> GateCulprits:
    """Return the batches that turn a gate red; the others were seen green together. Where a
    formatter can make itself green, the formatted patches are returned instead, to be judged anew.
    """
    search = _GateSearch(run, world)
    if not search.gates or not batches:
        return GateCulprits({}, 0)
    left = sorted(batches, key=lambda each: each.level)
    refused: dict[int, str] = {}
    red = await search.look(left)
    formatters = [gate for gate in search.red_gates if gate.repair] if may_format else []
    if formatters and (formatted := await format_patches(left, formatters, run, world)):
        return GateCulprits({}, search.runs + len(formatters), formatted)
    if red:  # what is not red again is noise
        again = await search.look(left, search.red_gates)
        red = {path: why for path, why in again.items() if path in red}
    while red and left:
        refused |= await search.find_culprits(left, red)
        left = [batch for batch in left if batch.number not in refused]
        red = await search.look(left) if left else {}
    return GateCulprits(refused, search.runs)


class _GateSearch:
    """Counts the looks and gate runs of one search."""

    def __init__(self, run: Run, world: World) -> None:
        self._run, self._world = run, world
        self._looks = 0
        self._until = world.clock() + SECONDS
        self.gates = usable_gates(run)
        self.red_gates: Sequence[Check] = ()
        self.runs = 0
        self._accused: dict[int, str] = {}
        """By batch that wrote a line which the gates of the last look name: why they are red."""

    async def look(
        self, batches: Sequence[Batch], gates: Sequence[Check] | None = None
    ) -> dict[str, str]:
        """Return by red file what the gates, or some of them, say with these fixes in."""
        self._looks += 1
        self._accused = {}
        said = {gate: await self._run_gate(gate, batches) for gate in gates or self.gates}
        if gates is None:
            self.red_gates = [gate for gate, red in said.items() if red]
        return {path: why for red in reversed(said.values()) for path, why in red.items()}

    async def _run_gate(self, gate: Check, batches: Sequence[Batch]) -> dict[str, str]:
        patches = [self._run.work.patches[batch.number] for batch in batches]
        opened = {path for batch in batches if batch.protected for path in batch.paths}
        view, tip = check_view(gate, self._world, opened), self._run.landing.tip
        before = load_baseline(gate, self._world)
        async with self._world.trees.open_tree(tip, patches, pristine=view) as tree:
            touched = {path for patch in patches for path in patch.paths}.intersection(tree.files())
            only = [test for test in before.tests if test.partition("::")[0] in touched]
            if before.tests and not only:  # no doctest is in a file that is touched
                return {}
            result = await self._world.checks.run(gate, tree, only=only)
            self.runs += 1
            verdict = compare_results(result, before, only=frozenset(only))
            if verdict.passed:
                return {}
            files = dict.fromkeys(name.partition("::")[0] for name in verdict.failing)
            texts = {path: tree.text(path) or "" for path in files}
        red = f"turns {gate.name} red"
        for path, text in texts.items():
            for number, said in (await self._find_writers(path, text, batches, result)).items():
                self._accused.setdefault(number, f"{red}: {said}")
        return {
            path: f"{red}: {_describe(path, result, verdict)}" for path in files or {_ELSEWHERE: ""}
        }

    async def _find_writers(
        self, path: str, text: str, batches: Sequence[Batch], result: CheckResult
    ) -> dict[int, str]:
        """Return the batches that wrote the lines of a file that a gate names, with its words."""
        before = await self._world.repository.text(self._run.landing.tip, path) or ""
        patches = {each.number: self._run.work.patches[each.number] for each in batches}
        owned = OffsetMap(
            (splice, number)
            for number, patch in patches.items()
            for splice in patch.file_splices(path, before)
        )
        table = LineTable(text)
        place = re.compile(rf"(?<![\w-]){re.escape(path)}:(\d{{1,9}})\b")
        found: dict[int, str] = {}
        for line in result.output.splitlines():
            for match in place.finditer(line):
                at = int(match[1])
                if 1 <= at <= table.count:
                    owners = owned.find_owners(table.line_start(at), table.line_start(at + 1) - 1)
                    found |= {n: line.strip()[:_SHOWN] for n in owners if n not in found}
        return found

    async def find_culprits(self, left: Sequence[Batch], red: Mapping[str, str]) -> dict[int, str]:
        """Return at least one batch: those that wrote the lines that the gates name, if these are
        green without them; else by searches, of which those that share no file go side by side.
        """
        accused = self._accused
        rest = [batch for batch in left if batch.number not in accused]
        if accused and not (rest and red.keys() & await self.look(rest, self.red_gates)):
            return accused
        parts = _split_parts(left, red, self._run)
        said = {number: red[part.find_red(red)[0]] for part in parts for number in part.numbers}
        settled = {batch.number for batch in left}.difference(said)
        searches = {part: split_culprits(part.numbers) for part in parts}
        green: dict[_Part, bool] = {}
        refused: dict[int, str] = {}
        while searches and self._looks < LOOKS and self._world.clock() < self._until:
            kept: dict[_Part, tuple[int, ...]] = {}
            for part in list(searches):
                search = searches[part]
                try:
                    kept[part] = search.send(green[part]) if part in green else next(search)
                except StopIteration as end:
                    refused |= {number: said[number] for number in end.value}
                    settled |= set(part.numbers).difference(end.value)
                    del searches[part]
            if kept:
                numbers = settled.union(*kept.values())
                tried = [batch for batch in left if batch.number in numbers]
                now = await self.look(tried, self.red_gates)
            for part, suspects in kept.items():
                found = part.find_red(now)
                green[part] = not found
                said |= dict.fromkeys(suspects, now[found[0]]) if found else {}
        unclear = (number for part in searches for number in part.numbers)
        return refused | {number: f"{said[number]}{_LATE}" for number in unclear}


def _describe(path: str, result: CheckResult, verdict: CheckVerdict) -> str:
    """Return what the gate prints about a file, with the line above it if that is only its place,
    or the reason of its verdict.
    """
    if not path or any("::" in name for name in verdict.failing):
        return verdict.why[:_SHOWN]
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    at = next((number for number, line in enumerate(lines) if path in line), 0)
    alone = not re.search(r"[A-Za-z]{2}", lines[at].replace(path, "")) if lines else False
    return " ".join(lines[max(at - 1, 0) if alone else at : at + 1])[:_SHOWN] or verdict.why


def _split_parts(left: Sequence[Batch], red: Mapping[str, str], run: Run) -> list[_Part]:
    """Return the batches that touch red files, those that share files together; all as one part if
    no red file is touched by any.
    """
    parts: list[_Part] = []
    for batch in left:
        paths = frozenset(run.work.patches[batch.number].paths)
        near = [part for part in parts if part.paths and part.paths & paths]
        numbers = tuple(number for part in near for number in part.numbers)
        joined = paths.union(*(part.paths or () for part in near))
        parts = [part for part in parts if part not in near]
        parts.append(_Part((*numbers, batch.number), joined))
    touched = [part for part in parts if part.find_red(red)]
    return touched or [_Part(tuple(batch.number for batch in left), None)]
