"""Bring tools' fixes to a fixed point before they are judged: apply, look again, apply.

Fixes that change or touch the same text become one, and so does what a fix brings about and has a
safe fix of its own. What the analyzers say is only a draft here: the whole is judged like any fix.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from keyword import iskeyword

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.finding.finding import Finding, Fix, Safety, Splice
from punchlist.model.integrity.recheck_diff import NewFinding, RecheckDiff
from punchlist.model.integrity.suppressions import find_syntax_error
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import RoundWork, Run
from punchlist.model.patch.layered_edits import LayeredEdits
from punchlist.model.patch.patch import Patch, ReservedSpans, fix_key, group_splices, has_overlap
from punchlist.ports.tree import Pristine
from punchlist.ports.world import World
from punchlist.steps.support.batching import BatchPlan, may_grow, name_batch

PASSES = 20
"""Looks after which fixes that do not come to rest are left as the tools propose them."""


async def settle_fixes(plan: BatchPlan, run: Run, world: World) -> BatchPlan:
    """Return the plan with its tools' fixes brought to a fixed point. It stays as it is if an
    analyzer fails, or has something new to fix at each look.
    """
    batches = {batch.number: batch for batch in plan.batches if _may_grow(batch, run)}
    texts = await _read_texts(batches.values(), run, world)
    waiting = [item for item in plan.overlapping if _may_join(item)]
    others = [batch for batch in plan.batches if batch.number not in batches]
    draft = _Draft(batches, waiting, others, texts, run)
    with suppress(_LookFailed):
        for _ in range(PASSES if draft.sources else 0):
            looked = await _look(draft.patches, sorted(draft.layers), draft.sources, run, world)
            draft.compare(looked)
            if not draft.take_in(await _find_causes(draft, run, world)):
                return plan if draft.broken else draft.amend(plan)
    return plan


async def _find_causes(draft: "_Draft", run: Run, world: World) -> "dict[_Key, frozenset[int]]":
    """Return which fixes bring about each new finding, and are near it: its own fix would go with
    them. What is reported with none of its neighbours alone is brought about somewhere else in its
    file.
    """
    caused = draft.list_caused()
    order = {path: draft.list_owners(path) for path in sorted({n.name[0] for n, _ in caused})}
    found: dict[_Key, frozenset[int]] = {}
    for chosen in _split_groups(caused, order):
        seen = await _list_seen(chosen, order, draft, run, world)
        found |= {
            _key(n): near for n, near in caused if chosen.get(n.name[0]) == near and n.name in seen
        }
    caused = [(n, near) for n, near in caused if _key(n) not in found]
    order = {path: order[path] for path in sorted({n.name[0] for n, _ in caused})}
    places = await _decode_causes(order, draft, run, world)
    return found | {
        _key(n): near | {order[n.name[0]][places[n.name]]} for n, near in caused if n.name in places
    }


def _split_groups(
    caused: "Iterable[tuple[NewFinding, frozenset[int]]]", order: Mapping[str, Sequence[int]]
) -> Iterator[dict[str, frozenset[int]]]:
    """Yield for each file one group of fixes that something is near to, until all were there; none
    for a file with so many that it takes fewer looks to find each cause by its place.
    """
    groups: dict[str, dict[frozenset[int], None]] = {}
    for news, near in caused:
        if near:
            groups.setdefault(news.name[0], {})[near] = None
    few = {path: each for path, each in groups.items() if len(each) <= 2 * _digits(order[path])}
    for row in zip_longest(*few.values()):
        yield {path: group for path, group in zip(few, row, strict=True) if group}


def _digits(owners: Sequence[int]) -> int:
    """Return how many binary digits the places in a list have."""
    return max(1, (len(owners) - 1).bit_length())


async def _decode_causes(
    order: Mapping[str, Sequence[int]], draft: "_Draft", run: Run, world: World
) -> "dict[_NewName, int]":
    """Return by finding the place, in the list of its file, of the fix that alone brings it about.

    For each binary digit of a place there are two looks: with the fixes that have a 0 there, and
    with those that have a 1. What one fix brings about is reported in one of the two.
    """
    digits = {path: _digits(owners) for path, owners in order.items()}
    places: dict[_NewName, int] = {}
    told: Counter[_NewName] = Counter()
    for digit in range(max(digits.values(), default=0)):
        split = {path: order[path] for path in order if digits[path] > digit}
        zero, one = [
            await _list_seen(
                {
                    path: frozenset(n for at, n in enumerate(owners) if at >> digit & 1 == value)
                    for path, owners in split.items()
                },
                order,
                draft,
                run,
                world,
            )
            for value in (0, 1)
        ]
        told.update(zero ^ one)
        places |= {name: places.get(name, 0) + ((name in one) << digit) for name in zero ^ one}
    return {
        name: place
        for name, place in places.items()
        if told[name] == digits[name[0]] and place < len(order[name[0]])
    }


async def _list_seen(
    chosen: Mapping[str, frozenset[int]],
    order: Mapping[str, Sequence[int]],
    draft: "_Draft",
    run: Run,
    world: World,
) -> "set[_NewName]":
    """Return what is new in these files with only these fixes of each; no look is needed where
    these are all, or none.
    """
    known = {path for path, numbers in chosen.items() if len(numbers) == len(order[path])}
    seen = {name for name in draft.list_names() if name[0] in known}
    part = {path: each for path, each in chosen.items() if each and path not in known}
    if part:
        found = await _look(draft.cut_patches(part), sorted(part), draft.sources, run, world)
        seen |= {news.name for news in draft.list_new(found, part)}
    return seen


def _may_grow(batch: Batch, run: Run) -> bool:
    """Return whether an analyzer that looks again reported all that the fix is for."""
    items = [run.items[number] for number in batch.items]
    seen = all(item.current.source in run.started.reviewers for item in items)
    return batch.patch is not None and not batch.mixed and seen and all(map(may_grow, items))


def _may_join(item: Item) -> bool:
    fix = item.current.fix
    return fix is not None and fix.safety is not Safety.DISPLAY and may_grow(item)


async def _read_texts(batches: Iterable[Batch], run: Run, world: World) -> dict[str, str]:
    """Return the texts of the files that the fixes edit, if their edits fit."""
    async with world.trees.open_tree(run.landing.tip) as tree:
        texts = {path: tree.text(path) for batch in batches for path in batch.paths}
    return {path: text for path, text in texts.items() if text is not None}


class _LookFailed(Exception):
    """An analyzer could not look at a draft: what it does not report proves nothing."""


async def _look(
    patches: Iterable[Patch], paths: Sequence[str], sources: Iterable[str], run: Run, world: World
) -> list[Finding]:
    """Return what these analyzers report of these files with the patches."""
    found: list[Finding] = []
    steering = Pristine(origin=world.change.base, alone=world.protected.steering)
    async with world.trees.open_tree(run.landing.tip, [*patches], pristine=steering) as tree:
        for source in sorted(sources):
            analyzer = world.analyzers.get(source)
            if analyzer is None:
                continue
            said = await analyzer.analyze(tree, paths)
            if said.failed:
                raise _LookFailed
            found += said.findings
    return found


_WORD = re.compile(r"[A-Za-z_]\w*")
_Name = tuple[str, str, str, str]
"""Path, source, rule and message of a finding."""
_NewName = tuple[str, str, str, str, int]
"""The same, and the line it was on before."""
_Key = tuple[_NewName, tuple[Splice, ...]]


class _Step(Struct, frozen=True):
    """A fix of the patched text, the batches that it goes on top of, and the item that it fixes."""

    fix: Fix
    owners: frozenset[int]
    item: int | None


class _Draft:
    """The fixes as they are after some passes."""

    def __init__(
        self,
        batches: Mapping[int, Batch],
        waiting: Sequence[Item],
        others: Iterable[Batch],
        texts: Mapping[str, str],
        run: Run,
    ) -> None:
        self._run, self._texts = run, texts
        self.batches = {n: each for n, each in batches.items() if each.patch and _fits(each, texts)}
        self._others = ReservedSpans(adjoining=True)
        for batch in (*others, *(each for n, each in batches.items() if n not in self.batches)):
            self._others.reserve(batch.patch or Patch())
        self._waiting = {item.number: item for item in sorted(waiting, key=reading_order)}
        self._refused = {key for item in run.items.values() for key in item.rejected}
        self._home = {number: number for number in self.batches}
        self.sources = {
            run.items[number].current.source
            for batch in self.batches.values()
            for number in batch.items
        }
        self.broken = False
        self._named: dict[tuple[Splice, ...], set[str]] = {}
        self._place()

    def _place(self) -> None:
        owned: dict[str, dict[int, Sequence[Splice]]] = {}
        for number, batch in self.batches.items():
            for path, splices in group_splices(batch.patch.splices if batch.patch else ()).items():
                owned.setdefault(path, {})[number] = splices
        self.layers = {path: LayeredEdits(self._texts[path], each) for path, each in owned.items()}
        self._removed = {
            path: {n: _find_removed(self._texts[path], splices) for n, splices in each.items()}
            for path, each in owned.items()
        }

    @property
    def patches(self) -> list[Patch]:
        return [batch.patch for batch in self.batches.values() if batch.patch]

    def cut_patches(self, chosen: Mapping[str, Collection[int]]) -> list[Patch]:
        """Return what the chosen fixes of each file do to that file."""
        return [
            Patch(splices=tuple(s for s in patch.splices if s.path == path))
            for path, numbers in chosen.items()
            for patch in (self.batches[number].patch or Patch() for number in numbers)
        ]

    def list_owners(self, path: str) -> list[int]:
        """Return the fixes that edit a file, from top to bottom."""
        return [self._home[number] for number in self.layers[path].owners]

    def compare(self, findings: Sequence[Finding]) -> None:
        """Take note of what is reported with all fixes."""
        news = self.list_new(findings, {path: self.list_owners(path) for path in self.layers})
        self._named = _find_names(each.finding for each in news)
        self._matched = self._match_waiting(news)

    def list_names(self) -> set[_NewName]:
        """Return what is new with all fixes."""
        return {news.name for news, _ in self._matched}

    def list_caused(self) -> list[tuple[NewFinding, frozenset[int]]]:
        """Return what is new, with a fix that others of its file could take in, and what of these
        it is near to.
        """
        found = list[tuple[NewFinding, frozenset[int]]]()
        for each, item in self._matched:
            fix, path = each.finding.fix, each.finding.spot.path
            if item is not None or fix is None or not self._may_take(path, fix):
                continue
            safeties = {Safety.SAFE, *(self.batches[n].safety for n in self.list_owners(path))}
            if fix.safety in safeties:  # what is used no longer goes with what used it last
                removers = self._find_removers(path, each.finding, fix)
                near = self._find_near(each, fix) | removers
                found.append((each, frozenset(self._home[number] for number in near)))
        return found

    def _may_take(self, path: str, fix: Fix) -> bool:
        paths = {path, *(splice.path for splice in fix.splices)}
        return fix_key(fix) not in self._refused and paths <= self.layers.keys()

    def take_in(self, causes: Mapping[_Key, Collection[int]]) -> bool:
        """Let the fixes take in the next ones on top of them; return whether there were any."""
        taken = ReservedSpans()
        steps: list[_Step] = []
        for each, item in self._matched:
            step = self._find_step(each, item, causes)
            if step and taken.admits(Patch(splices=step.fix.splices)):
                taken.reserve(Patch(splices=step.fix.splices))
                steps.append(step)
                self._join(step)
        if not steps:
            self._take_in_gone({item for _, item in self._matched})
        return bool(steps) and self._apply(steps)

    def list_new(
        self, findings: Sequence[Finding], chosen: Mapping[str, Collection[int]]
    ) -> Sequence[NewFinding]:
        """Return what is new in these files with these fixes; what they are for, and what waits for
        them, counts as new, too.
        """
        ours = {number for batch in self.batches.values() for number in batch.items}
        ours.update(self._waiting)
        others = (item for number, item in self._run.items.items() if number not in ours)
        live = (item for item in others if item.status is not Status.FIXED)
        standing = [finding for item in live for finding in item.sighted]
        batches = {n: self.batches[n] for numbers in chosen.values() for n in numbers}
        patches = {
            number: Patch(
                splices=tuple(s for s in patch.splices if number in chosen.get(s.path, ()))
            )
            for number, patch in ((n, each.patch or Patch()) for n, each in batches.items())
        }
        run = replace(self._run, work=RoundWork(batches=batches, patches=patches))
        standing += run.reviewing.standing
        texts = {path: self._texts[path] for path in chosen}
        return RecheckDiff(run, [*batches.values()], texts, findings, standing).list_new()

    def _match_waiting(self, news: Sequence[NewFinding]) -> list[tuple[NewFinding, int | None]]:
        """Return what is new with the waiting item that it is the finding of, these first."""
        left: dict[_Name, list[NewFinding]] = {}
        for each in news:
            left.setdefault(_name(each.finding), []).append(each)
        found: list[tuple[NewFinding, int | None]] = []
        for number, item in self._waiting.items():
            line = item.current.spot.line or 0
            if same := left.get(_name(item.current)):
                nearest = min(same, key=lambda each: abs(each.key[3] - line))
                same.remove(nearest)
                found.append((nearest, number))
        return [*found, *((each, None) for same in left.values() for each in same)]

    def _find_step(
        self, news: NewFinding, item: int | None, causes: Mapping[_Key, Collection[int]]
    ) -> _Step | None:
        """Return how a fix is taken in, or None if it has to wait for the next round."""
        fix = news.finding.fix
        if fix is None or not self._may_take(news.finding.spot.path, fix):
            return None
        near = self._find_near(news, fix) if item is not None else causes.get(_key(news), ())
        owners = frozenset(self._home[number] for number in near)
        batches = [self.batches[number] for number in owners]
        safeties = {each.safety for each in batches}
        if not owners or (item is None and fix.safety not in {Safety.SAFE, *safeties}):
            return None
        safeties |= {fix.safety} if item is not None else set()
        several = len(batches) > 1 or item is not None
        if several and (len(safeties) > 1 or len({each.protected for each in batches}) > 1):
            return None
        paths = {path for batch in batches for path in batch.paths}
        edited = {splice.path for splice in fix.splices}
        if not edited <= paths or not self._others.admits(self._place_edits(fix.splices)):
            return None
        return _Step(fix, owners, item)

    def _place_edits(self, edits: Iterable[Splice]) -> Patch:
        """Return what edits of the patched texts change of the original ones."""
        return Patch(splices=tuple(self.layers[each.path].join_near(each) for each in edits))

    def _find_near(self, news: NewFinding, fix: Fix) -> set[int]:
        """Return the fixes that a fix overlaps or touches, else those that wrote there."""
        splices = group_splices(fix.splices)
        near = {n for name, each in splices.items() for n in self.layers[name].find_near(each)}
        return near or {*news.owners}

    def _find_removers(self, path: str, finding: Finding, fix: Fix) -> set[int]:
        """Return the fixes that take away uses of a name that the findings with this fix are about,
        and that was there before where the fix takes it away; those in the same function, if any.
        """
        layers, before = self.layers[path], self._texts[path]
        here = [each for each in fix.splices if each.path == path]
        whole = map(layers.join_near, here)
        gone = _find_removed(layers.text, here)
        old = _count_words(before[each.start : each.end] for each in whole)
        names = gone & old.keys()
        names &= self._named[fix.splices] or {each for each in names if not iskeyword(each)}
        removers = {n for n, words in self._removed[path].items() if names & words}
        symbol = finding.context.symbol
        return (symbol and {n for n in removers if symbol in self._find_symbols(n)}) or removers

    def _find_symbols(self, number: int) -> set[str]:
        """Return the functions and classes that the findings of a batch are in."""
        items = (self._run.items[item] for item in self.batches[self._home[number]].items)
        return {item.current.context.symbol for item in items}

    def _join(self, step: _Step) -> None:
        """Let the batches that a step goes on top of become one, with its item."""
        batches = [self.batches.pop(number) for number in sorted(step.owners)]
        number = batches[0].number
        if len(batches) > 1:
            self._home |= {old: number for old, new in self._home.items() if new in step.owners}
        items = [self._run.items[each] for batch in batches for each in batch.items]
        if step.item is not None:
            items.append(self._waiting.pop(step.item))
        items.sort(key=reading_order)
        splices = (splice for batch in batches if batch.patch for splice in batch.patch.splices)
        self.batches[number] = replace(
            batches[0],
            items=tuple(item.number for item in items),
            title=name_batch(items),
            paths=tuple(sorted({path for batch in batches for path in batch.paths})),
            patch=Patch(splices=tuple(splices)),
            grown=True,
        )

    def _apply(self, steps: Sequence[_Step]) -> bool:
        """Apply the fixes of the steps, and return whether the files can be read with them."""
        self._place()
        edits: dict[str, dict[int, list[Splice]]] = {}
        for step in steps:
            number = self._home[min(step.owners)]
            for splice in step.fix.splices:
                edits.setdefault(splice.path, {}).setdefault(number, []).append(splice)
        texts = {path: self.layers[path].text for path in edits}
        for path, owned in edits.items():
            for number, splices in self.layers[path].stack(owned).items():
                batch = self.batches[number]
                known = batch.patch.splices if batch.patch else ()
                kept = (each for each in known if each.path != path)
                self.batches[number] = replace(batch, patch=Patch(splices=(*kept, *splices)))
        self._place()
        self.broken = any(
            find_syntax_error(path, self.layers[path].text) and not find_syntax_error(path, text)
            for path, text in texts.items()
        )
        return not self.broken

    def _take_in_gone(self, seen: Collection[int | None]) -> None:
        """Let the fixes take in the items that waited for them, if the analyzer that reported
        these looked again and no longer does.
        """
        gone = [
            item
            for number, item in self._waiting.items()
            if number not in seen and item.current.source in self.sources
        ]
        for item, fix in ((each, each.current.fix) for each in gone):
            paths = {splice.path for splice in fix.splices} if fix else set()
            near = {
                number for path in paths & self.layers.keys() for number in self.layers[path].owners
            }
            for batch in [self.batches[number] for number in sorted(near)]:
                reserved = ReservedSpans()
                reserved.reserve(batch.patch or Patch())
                alike = fix and batch.safety is fix.safety and not batch.protected
                if fix and alike and not reserved.admits(Patch(splices=fix.splices)):
                    self._join(_Step(fix, frozenset({batch.number}), item.number))
                    break

    def amend(self, plan: BatchPlan) -> BatchPlan:
        """Return the plan with the fixes as they are now."""
        gone = self._home.keys() - self.batches.keys()
        kept = (each for each in plan.batches if each.number not in gone)
        joined = [each for each in plan.overlapping if _may_join(each)]
        joined = [each for each in joined if each.number not in self._waiting]
        return replace(
            plan,
            batches=tuple(self.batches.get(each.number, each) for each in kept),
            waiting=plan.waiting - len(joined),
        )


def _fits(batch: Batch, texts: Mapping[str, str]) -> bool:
    """Return whether the edits of a batch lie inside the texts, and do not overlap."""
    splices = batch.patch.splices if batch.patch else ()
    inside = (s.path in texts and 0 <= s.start <= s.end <= len(texts[s.path]) for s in splices)
    return bool(splices) and all(inside) and not has_overlap(splices)


def _find_names(findings: Iterable[Finding]) -> dict[tuple[Splice, ...], set[str]]:
    """Return by fix the names that the findings with it are about."""
    found: dict[tuple[Splice, ...], set[str]] = {}
    for finding in findings:
        if finding.fix is not None:
            names = (name.rpartition(".")[2] for name in finding.context.names)
            found.setdefault(finding.fix.splices, set()).update(names)
    return found


def _find_removed(text: str, splices: Sequence[Splice]) -> set[str]:
    """Return the words that are there less often with the splices."""
    old = _count_words(text[each.start : each.end] for each in splices)
    return set(old - _count_words(each.text for each in splices))


def _count_words(texts: Iterable[str]) -> Counter[str]:
    return Counter(word for text in texts for word in _WORD.findall(text))


def _key(news: NewFinding) -> _Key:
    """Return what tells it from others of its line: what its fix changes."""
    return (news.name, news.finding.fix.splices if news.finding.fix else ())


def _name(finding: Finding) -> _Name:
    return (finding.spot.path, finding.source, finding.rule, finding.title)
