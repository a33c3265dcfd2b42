"""Refuses an agent's patch by its text alone, before anything is run."""

from collections.abc import Sequence

from msgspec import Struct

from punchlist.model.checks.protected import STEERS_AGENTS, Protected, matches_any
from punchlist.model.integrity.deleted_code import drop_unused, find_deletion
from punchlist.model.integrity.intent import (
    Intent,
    asks_removal,
    asks_tests,
    find_intent,
    is_about_text,
    join_words,
)
from punchlist.model.integrity.new_tests import only_adds_tests
from punchlist.model.integrity.runner_tricks import find_tricks
from punchlist.model.integrity.suppressions import Suppressions, find_syntax_error, is_same_program
from punchlist.model.integrity.tricks.process_questions import find_questions
from punchlist.model.item.item import Item
from punchlist.model.patch.patch import Patch, apply_splices
from punchlist.steps.support.wording import join_few

NO_OP = "only comments, formatting or names of locals changed"
PROSE = (".md", ".rst", ".txt", ".adoc")


class Texts(Struct, frozen=True, kw_only=True):
    """The files of a patch before and after it; None if there is none."""

    before: dict[str, str | None]
    after: dict[str, str | None]
    modes: frozenset[str] = frozenset()
    """Files whose content stays, and only their mode changes."""

    def find_tests(self, protected: Protected) -> list[str]:
        """Return test files that are new, or that only gained tests."""
        return [
            path
            for path, text in self.after.items()
            if matches_any(path, protected.tests)
            and not matches_any(path, protected.configuration)
            and text is not None
            and (self.before[path] is None or self.only_adds(path))
        ]

    def only_adds(self, path: str) -> bool:
        return only_adds_tests(path, *self.texts(path))

    def texts(self, path: str) -> tuple[str, str]:
        """Return a file's text before and after; '' if there is none."""
        return self.before[path] or "", self.after[path] or ""


class ScanResult(Struct, frozen=True):
    """Why the patch is refused, or '', and notes for the user."""

    refuted: str = ""
    noted: tuple[str, ...] = ()


def build_texts(patch: Patch, before: dict[str, str | None]) -> Texts:
    """Apply the patch to `before`, its files at the tip."""
    after: dict[str, str | None] = {}
    for path in {splice.path for splice in patch.splices}:
        splices = [splice for splice in patch.splices if splice.path == path]
        after[path] = apply_splices(before[path] or "", splices)
    for change in patch.files:
        after[change.path] = None if change.content is None else change.text
    modes = frozenset(path for path, text in after.items() if text == before[path])
    return Texts(before=before, after=after, modes=modes)


def scan_patch(  # noqa: PLR0913  # all that a patch is compared with
    items: Sequence[Item],
    seen: Texts,
    protected: Protected,
    suppressions: Suppressions,
    asking: Sequence[Item] | None = None,
    *,
    loaded: Sequence[str] = (),
) -> ScanResult:
    """Run all text checks, the most obvious first. `asking` are the items that a patch without
    effect cannot have fixed; all, if None. `loaded` are edited files that belong to the tests
    because only they load them.
    """
    asking = items if asking is None else asking
    about = {item.current.spot.path for item in items}
    tests = seen.find_tests(protected)
    judges = [
        path
        for path in seen.after
        if (protected.holds(path) or matches_any(path, STEERS_AGENTS) or path in loaded)
        and path not in tests
    ]
    code = [path for path in seen.after if path not in judges and path not in tests]
    edited = [*judges, *code]
    refuted = (
        _find_protected_edits(items, judges, code, seen)
        or _find_silencing(seen, edited, suppressions)
        or _find_tricks(items, seen, edited)
        or _find_syntax_error(seen)
        or _futility_reason(asking, seen, edited)
        or _find_deletion(items, seen)
    )
    if refuted:
        return ScanResult(refuted)
    notes = [f"changes {path} (tests or CI configuration): review it" for path in judges]
    notes += [f"touches {path}, which no finding is about" for path in code if path not in about]
    notes += [f"adds tests to {path}" for path in tests if seen.before[path] is not None]
    return ScanResult(noted=tuple(notes))


def _find_protected_edits(
    items: Sequence[Item], judges: Sequence[str], code: Sequence[str], seen: Texts
) -> str:
    """Return an objection unless all findings are about the protected file and nothing else is
    edited.
    """
    strange = [path for path in judges if any(item.current.spot.path != path for item in items)]
    if strange:
        return (
            f"changes {join_few(strange)}: tests that are there, what they load, and what steers"
            " checks or agents are not the fixer's; put new tests into a new file"
        )
    if judges and code:
        return f"changes {join_few(judges)} together with the code it judges ({join_few(code)})"
    weaker = [path for path in judges if is_weaker(*seen.texts(path))]
    if weaker and not asks_removal(items):
        return f"{join_few(weaker)} asserts less than before"
    return ""


def is_weaker(before: str, after: str) -> bool:
    """Return whether there are fewer assertions or tests, counted by keywords."""
    return any(
        after.count(word) < before.count(word)
        for word in ("assert", "def test", "expect(", "it(", "func Test", "#[test]")
    )


def _find_silencing(seen: Texts, paths: Sequence[str], suppressions: Suppressions) -> str:
    added: dict[str, int] = {}
    for path in paths:
        before, after = (suppressions.count_in_file(path, text) for text in seen.texts(path))
        added[path] = after - before
    if sum(added.values()) <= 0:
        return ""
    hiding = join_few([path for path, more in added.items() if more > 0])
    return f"hides findings from the tools instead of curing them: {hiding}"


def _find_tricks(items: Sequence[Item], seen: Texts, paths: Sequence[str]) -> str:
    words = join_words(items)
    for path in paths:
        for trick in find_tricks(path, *seen.texts(path)):
            if not _is_asked_for(trick, words):
                return f"{path}: {trick}"
    known = [text for path, text in seen.before.items() if text and path.endswith(".py")]
    for path in (each for each in paths if each.endswith(".py")):
        for asked in find_questions(known, seen.after[path] or "", words):
            return f"{path}: {asked}, and no finding is about that"
    return ""


def _is_asked_for(trick: str, words: str) -> bool:
    """Return whether the finding names the very thing: `os._exit`, `pytest`, `__eq__`."""
    names = [
        name.strip("()")
        for name in trick.split()
        if not name.isalpha() or name in ("pytest", "unittest", "SystemExit")
    ]
    return any(name and name in words for name in names)


def _find_syntax_error(seen: Texts) -> str:
    for path, text in seen.after.items():
        why = find_syntax_error(path, text) if text is not None else ""
        if why and not find_syntax_error(path, seen.before[path] or ""):
            return why
    return ""


def _futility_reason(items: Sequence[Item], seen: Texts, paths: Sequence[str]) -> str:
    """Return why the edits do nothing for these items (no change, only a suppression), or ''."""
    if not paths and not asks_tests(items):
        return "only adds tests: nothing of what the finding is about changed"
    if not paths or not items or is_about_text(items):
        return ""
    if all(_is_same(path, seen) for path in paths):
        return NO_OP
    if find_intent(items) is Intent.CHANGE and all(_adds_idle(path, seen, items) for path in paths):
        return "only adds code that no other code uses"
    aimed = any(item.current.spot.path in seen.after for item in items)
    if not aimed and all(_is_aside(path, seen) for path in paths):
        return f"changes nothing that runs: {join_few(paths)}"
    return ""


def _is_aside(path: str, seen: Texts) -> bool:
    """Return whether the file is prose, new, or unchanged as a program."""
    return path.endswith(PROSE) or seen.before[path] is None or _is_same(path, seen)


def _adds_idle(path: str, seen: Texts, items: Sequence[Item]) -> bool:
    """Return whether the file only gains definitions that nothing in it uses, and of which the
    findings do not speak.
    """
    before, after = seen.before[path], seen.after[path]
    if not before or not after or not path.endswith(".py"):
        return False
    bare, names = drop_unused(before, after)
    words = join_words(items).lower()
    asked = any(part in words for name in names for part in name.lower().split("_") if part[3:])
    return bool(names) and not asked and is_same_program(path, before, bare)


def _is_same(path: str, seen: Texts) -> bool:
    before, after = seen.before[path], seen.after[path]
    if path in seen.modes:
        return False  # a mode may be what the finding is about
    return before is not None and after is not None and is_same_program(path, before, after)


def _find_deletion(items: Sequence[Item], seen: Texts) -> str:
    if asks_removal(items):
        return ""
    before = {path: text for path, text in seen.before.items() if text is not None}
    for spot in (item.current.spot for item in items):
        if why := find_deletion(spot.path, spot.line, before, seen.after):
            return f"{why}: the code that the finding is about is gone, not cured"
    return ""
