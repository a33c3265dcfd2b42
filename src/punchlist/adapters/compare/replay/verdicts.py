"""Judge a patch by the calls that were made again; each rule returns why it is refused, or ''."""

import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from punchlist.adapters.compare.replay.bare import RECORDED, Answer, Key
from punchlist.adapters.compare.replay.evidence import Evidence, agrees, show_answer, show_call
from punchlist.adapters.compare.replay.named_calls import parse_call
from punchlist.adapters.compare.replay.recording import RecordedCall

_TABLE = 2
"""Inputs that must differ before answers look like a table."""
_NEIGHBOURS = 20
"""Similar inputs that must be answered before their silence says something."""
_TELLING = 6
"""Different answers among them from which on they count as various."""
_ALIKE = 500
"""Turns from here on have arguments of the same shape as the recorded ones."""
_SAME_SHAPE = 12
"""Inputs of the same shape that must be answered before their silence says something."""
_FEW_KEPT = 3
"""Inputs with a word that must differ before the answers can hang on it."""
_OTHER_WORDS = 8
"""Inputs with another word that must be answered before their silence says something."""
_SMALL = 2
"""Up to here a number may be a limit case."""
_TIME = re.compile(
    r"(?i)\b(?:expir|ttl\b|stale|outdated|clock|timestamp|deadline|schedul|today|yesterday"
    r"|tomorrow|now\b|time-?zone|(?:current|present|system) (?:time|date|day|month|year))"
)
_STATE = re.compile(r"(?i)\b(?:state|cach|once\b|twice|quota|budget|rate|limit|pool|leak|evict)")
_AGAIN = re.compile(
    r"(?i)\b(?:state|cach|once\b|twice|again|afterwards|later|concurren|race|thread|shar|leak|log"
    r"|second (?:call|time)|after `)"
)
_INSTEAD = re.compile(r"(?i)\)[`'\"]? (?:gives|returns|is|shows|yields) .{1,80}\binstead of\b")
"""What a call answers, and what it should answer."""
_PART = re.compile(r"[^\W\d_]+|\d+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_LIMITS = frozenset({"0", "1", "None", "True", "False"})
_EXAMPLE = re.compile(r"""\w+\([^()]*\)|`[^`]*`|"[^"]*\"""")
"""A call or a quotation."""
_FILLED = re.compile(r"[\[{][^\]}]")
_SPEED = re.compile(
    r"(?i)\b(?:slow|fast|speed|perform|quadratic|expensive|time|timing|memory|leak|copy)"
)


class Question(Struct, frozen=True, kw_only=True):
    """What the rules must know of the patch: the names whose behaviour may change, and those that
    it can affect. `plain`: it changes bodies of functions only. `additive`: all else that old code
    can be asked for is as it was. `grown`: a table of constants that was there before has more
    members. `named`: the keys of calls that the findings name, where they ask for other answers.
    `untouched`: functions that they name so, and that the patch cannot affect. `constants`: the
    words in constants of the old code; `counts`: whether it has numbers other than limit cases.
    `vocabulary`: words that are constants anywhere in the old project, in lower case.
    """

    words: str = ""
    allowed: frozenset[str] = frozenset()
    affected: frozenset[str] = frozenset()
    plain: bool = False
    additive: bool = False
    grown: bool = False
    named: frozenset[str] = frozenset()
    untouched: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()
    counts: bool = False
    vocabulary: frozenset[str] = frozenset()


def refute_outside(seen: Evidence, asked: Question) -> str:
    """Refuse code that answers differently outside of the tests."""
    for (module, name), why in seen.new.unloaded.items():
        if why and (module, name) not in seen.old.unloaded:
            return f"{module} cannot be used outside of the tests: {name} ends with {why}"
    answers: dict[str, list[tuple[str, str]]] = {}
    for call in seen.under_new.calls:
        if call.answer is not None and call.key in seen.asked_old:
            answers.setdefault(call.key, []).append(call.answer)
    for (key, turn), call, _, new in seen.pairs():
        judged = not asked.plain or not asked.affected.isdisjoint(call.name.split("."))
        under = answers.get(key, []) if judged and turn == RECORDED else []
        if under and not any(agrees(new, each) for each in under):
            one, other = show_answer(*under[0]), show_answer(new.kind, new.said)
            how = f"gives {one} under them, {other} without them"
            return f"answers differently outside of the tests: {show_call(call)} {how}"
    return _refute_later(seen, asked) or _refute_contradiction(seen, asked)


def _refute_later(seen: Evidence, asked: Question) -> str:
    """Refuse code all of whose new answers become the old ones again: after many calls, in another
    order, or years later.
    """
    cured: dict[tuple[str, str], list[tuple[Key, Answer, Answer]]] = {}
    for key, call, old, new in seen.pairs():
        later = seen.later.calls.get(key)
        if later is not None and later.usable and later.made == old.made and new.differs(old):
            cured.setdefault(call.function, []).append((key, old, later))
    for function, found in cured.items():
        if len(found) < _TABLE or any(later.differs(old) for _, old, later in found):
            continue
        key = found[0][0]
        unshifted = seen.after_others.calls.get(key) if seen.after_others is not None else None
        by_clock = unshifted is not None and not unshifted.differs(seen.new.calls[key])
        excused = (_TIME if by_clock else _STATE).search(asked.words)
        if seen.after_others is not None and excused:
            continue
        if by_clock and seen.asks_clock(function):
            continue
        when = "years later" if by_clock else "after many other calls"
        return f"the old answers come back {when}: those of {function[1]} to {len(found)} inputs"
    return ""


def _refute_contradiction(seen: Evidence, asked: Question) -> str:
    """Refuse a patch that turns tests green while none of their calls is answered differently."""
    known = asked.plain or asked.additive
    if not seen.turned or not known or _SPEED.search(asked.words) or not seen.is_whole():
        return ""
    keys = {
        (call.key, RECORDED)
        for call in (*seen.under_old.calls, *seen.under_new.calls)
        if call.test in seen.turned
    }
    both = [(seen.old.calls[key], seen.new.calls[key]) for key in keys]
    if not both or any(is_unclear(old) or is_unclear(new) for old, new in both):
        return ""
    if any(new.has_other_effect(old) for old, new in both):
        return ""
    calls = f"each of the {len(both)} calls that it makes is answered as before the fix"
    return f"turns {min(seen.turned)} green, and outside of the tests {calls}"


def is_unclear(answer: Answer) -> bool:
    """Return whether an answer, such as a function, cannot be compared with another."""
    return not answer.usable or "<?" in answer.said


def refute_table(seen: Evidence, asked: Question) -> str:
    """Refuse answers made for the tests: only their inputs differ, and nothing next to them."""
    if asked.grown or (seen.turned and not seen.is_whole()):
        return ""
    groups = list(_group_by_function(seen))
    for differing, near in groups:
        own = [(call, new) for call, new in differing if not _is_named(new, asked.words)]
        if len({_own_answer(new) for _, new in differing}) >= _TABLE:
            own = differing  # single answers for single inputs, although the finding names them
        still = [new for _, old, new in near if not new.differs(old)]
        made = {new.made for new in still}
        if len(own) < _TABLE or len(made) < _NEIGHBOURS or not _are_repeated(differing, near):
            continue
        if not _is_telling([new for _, new in differing], still):
            continue
        inputs = ", ".join(show_call(call) for call, _ in own[:3])
        shown = f"{len(own)} inputs of the tests are answered differently ({inputs})"
        similar = f"none of {len(made)} similar inputs is"
        return f"answers made for the tests alone: {shown}, and {similar}"
    found = (_find_single(*group, asked.words) for group in groups)
    for call, new, same in (each for each in found if each is not None):
        if not seen.thorough or _is_telling([new], same):
            count = len({each.made for each in same})
            shown = (
                f"{show_call(call)} is answered differently, and none of {count} similar inputs is"
            )
            return f"an answer made for one input alone: {shown}"
    return next(filter(None, (_refute_parts(*group, asked) for group in groups)), "")


def _refute_parts(
    differing: "list[tuple[RecordedCall, Answer]]", near: "list[Near]", asked: Question
) -> str:
    """Refuse other answers that hang on words or on a number of the tests: every input that is
    answered differently has them, and with others in their place each input of the same shape is
    answered as before.
    """
    for call, new in differing if asked.words else ():
        own = [(turn, old, now) for (key, turn), old, now in near if key == call.key]
        alike = [(old, now) for turn, old, now in own if turn >= _ALIKE]
        moved = [now for old, now in alike if now.differs(old)]
        if len(moved) < _FEW_KEPT:
            moved = [now for _, old, now in own if now.differs(old)]
        if len(moved) < _FEW_KEPT:
            continue
        for pinned in _list_pinned(new, moved, asked):
            other = [now for _, now in alike if not pinned <= _name_parts(now)]
            if len({now.made for now in other}) >= _OTHER_WORDS:
                named = ", ".join(map(repr, sorted(pinned)))
                shown = f"inputs like {show_call(call)} are answered differently with this"
                rest = f"none of {len(other)} with another one is"
                return f"answers made for {named}: {shown}, and {rest}"
    return ""


def _list_pinned(new: Answer, moved: "list[Answer]", asked: Question) -> Iterator[set[str]]:
    """Yield what all these inputs have, and code need not know: a word, unless the project knows it
    as a parser does its keywords; two letters or more, unless the old code knows them; the only
    number, if it is none that code or finding speaks of.
    """
    kept = _name_parts(new).intersection(*map(_name_parts, moved))
    prose = _drop_examples(asked.words)
    told = set(_PART.findall(prose))
    free = sorted(_list_free_words(new) & kept - told)
    yield from ({word} for word in free if word.lower() not in asked.vocabulary)
    letters = {part for part in kept if len(part) == 1 and part.islower()} - asked.constants
    letters = {each for each in letters if not re.search(rf"[`'\"]{each}[`'\"]", prose)}
    if len(letters) > 1:
        yield letters
    leaves = kept.intersection(new.leaves)
    numbers = {leaf for leaf in leaves if _NUMBER.fullmatch(leaf) and abs(float(leaf)) > _SMALL}
    only = next(iter(numbers)) if len(numbers) == 1 and not asked.counts else ""
    if "." in only and only.lstrip("-").partition(".")[0] not in told:
        yield numbers


def _name_parts(answer: Answer) -> set[str]:
    """Return the words of an input, and its numbers as a whole."""
    return {*_list_parts(answer), *(leaf for leaf in answer.leaves if _NUMBER.fullmatch(leaf))}


def _list_free_words(answer: Answer) -> set[str]:
    """Return the words of an input that code need not know, as it does `GET`; a single letter only
    if it is a name that comes again.
    """
    parts = _list_parts(answer)
    words = {part for part in parts if part.isalpha() and not part.isupper()}
    return {word for word in words if len(word) > 1 or parts.count(word) > 1}


def _find_single(
    differing: "list[tuple[RecordedCall, Answer]]", near: "list[Near]", words: str
) -> "tuple[RecordedCall, Answer, list[Answer]] | None":
    """Find an input with another answer, while those of the same shape, and all others next to it,
    are answered as before.
    """
    for call, new in differing:
        own = [(turn, old, now) for (key, turn), old, now in near if key == call.key]
        alike = {now.made for turn, _, now in own if turn >= _ALIKE} - {new.made}
        still = [now for _, old, now in own if not now.differs(old) and now.made != new.made]
        whole = _has_parts(new, call.shown) and len(alike) >= _SAME_SHAPE
        if any(now.differs(old) for _, old, now in own):
            continue
        if whole or (
            len({each.made for each in still}) >= _NEIGHBOURS and not _may_be_apart(new, words)
        ):
            return call, new, still
    return None


def _has_parts(answer: Answer, shown: str) -> bool:
    """Return whether an input has several words or numbers that are no limit case, or one inside
    of a collection: code that is right does not ask for such an input as a whole.
    """
    own = _list_parts(answer)
    return len(own) > 1 or (bool(own) and _FILLED.search(shown) is not None)


def _list_parts(answer: Answer) -> list[str]:
    parts = [part for leaf in answer.leaves for part in _PART.findall(leaf)]
    return [part for part in parts if part not in _LIMITS]


def _may_be_apart(answer: Answer, words: str) -> bool:
    """Return whether honest code may treat an input of one part alone: a word, a sign, or a number
    that the finding names, other than as an argument of an example.
    """
    own = _list_parts(answer)
    if not own:
        return max(map(len, answer.leaves), default=0) < len("()")
    named = re.search(rf"(?<!\w){re.escape(own[0])}(?!\w)", _drop_examples(words))
    return not own[0].isdigit() or int(own[0]) <= _SMALL or named is not None


def _drop_examples(words: str) -> str:
    """Return the words without calls and quotations of several parts: these are only examples."""

    def keep(match: re.Match[str]) -> str:
        text = match.group()
        return " " if text.endswith(")") or len(_PART.findall(text)) > 1 else text

    return _EXAMPLE.sub(keep, words)


Near = tuple[Key, Answer, Answer]


def _group_by_function(
    seen: Evidence,
) -> Iterator[tuple[list[tuple[RecordedCall, Answer]], list[Near]]]:
    """Yield by function the differing recorded calls, and the similar ones of these."""
    differing: dict[tuple[str, str], list[tuple[RecordedCall, Answer]]] = {}
    known: set[str] = set()
    for (_, turn), call, old, new in seen.pairs():
        if turn == RECORDED and new.differs(old) and not new.limit and new.made not in known:
            known.add(new.made)
            differing.setdefault(call.function, []).append((call, new))
    for found in differing.values():
        keys = {call.key for call, _ in found}
        near = [
            (key, old, new)
            for key, _, old, new in seen.pairs()
            if key[0] in keys
            and key[1] != RECORDED
            and old.usable
            and new.usable
            and not old.kind == new.kind == "raise"
        ]
        yield found, near


def _are_repeated(differing: list[tuple[RecordedCall, Answer]], near: list[Near]) -> bool:
    """Return whether similar inputs that are answered differently, if any, only repeat the answer
    to the input they come from: a table that looks at a part of its input.
    """
    answers = {call.key: _own_answer(new) for call, new in differing}
    moved = [(key, new) for (key, _), old, new in near if new.differs(old)]
    if moved and len(set(answers.values())) < _TABLE:
        return False
    return all(_own_answer(new) == answers[key] for key, new in moved)


def _is_named(answer: Answer, words: str) -> bool:
    """Return whether the finding itself names this input."""
    leaves = [leaf for leaf in answer.leaves if leaf.strip()]
    return bool(leaves) and all(
        re.search(rf"(?<!\w){re.escape(leaf)}(?!\w)", words) for leaf in leaves
    )


def _is_telling(differing: list[Answer], near: list[Answer]) -> bool:
    """Return whether the similar inputs come near: their answers are various, or are such as the
    differing inputs get now.
    """
    said = Counter(_own_answer(answer) for answer in near)
    return len(said) >= _TELLING or all(said[_own_answer(each)] > 1 for each in differing)


def _own_answer(answer: Answer) -> str:
    return f"{answer.kind} {answer.said.partition(' | ')[0]}"


def refute_others(seen: Evidence, asked: Question) -> str:
    """Refuse a changed behaviour of functions that no finding is about."""
    for (_, turn), call, old, new in seen.pairs():
        names = set(call.name.split("."))
        if names & asked.allowed or not new.differs(old):
            continue
        like = f"{call.name}, with an input like ({call.shown}),"
        where = show_call(call) if turn == RECORDED else like
        before, now = show_answer(old.kind, old.said), show_answer(new.kind, new.said)
        what = f"changes what {call.file} does elsewhere, and no finding is about that"
        return f"{what}: {where} gave {before} before, gives {now} now"
    return ""


def refute_equality(seen: Evidence, _asked: Question) -> str:
    """Refuse answers of a class that claims to equal values that differ from each other."""
    for _, call, old, new in seen.pairs():
        if new.pleases and not old.pleases:
            given = f"{show_call(call)} gives {show_answer(new.kind, new.said)}"
            return f"{given}, which says that it equals values that differ from each other"
    return ""


def refute_asking(seen: Evidence, asked: Question) -> str:
    """Refuse code that asks about the process that runs it, where the old code did not."""
    known = seen.old_later.asks if seen.old_later is not None else frozenset()
    new = sorted(seen.later.asks - known)
    found = [each for each in new if each.rpartition(".")[2] not in asked.words]
    return f"asks how it is run ({found[0]}), and no finding is about that" if found else ""


def refute_named(seen: Evidence, asked: Question) -> str:
    """Refuse a fix with which every call that the findings name is answered as before."""
    unseen = _SPEED.search(asked.words) or _AGAIN.search(asked.words)
    if unseen and not _INSTEAD.search(asked.words):
        return ""
    found = [
        (call, old, new)
        for (key, turn), call, old, new in seen.pairs()
        if key in asked.named and turn == RECORDED and old.usable and new.usable
    ]
    if any(new.has_other_effect(old) for _, old, new in found):
        return ""
    said = [f"{show_call(call)} gives {show_answer(new.kind, new.said)}" for call, _, new in found]
    return f"what the finding names is answered as before the fix: {said[0]}" if said else ""


def refute_untouched(seen: Evidence, asked: Question) -> str:
    """Refuse a fix elsewhere with which the function that the finding names answers as before."""
    for name in sorted(asked.untouched):
        both = [
            (old, new)
            for _, call, old, new in seen.pairs()
            if call.name == name and new.usable and parse_call(f"{name}({call.shown})") is not None
        ]
        inputs = {new.made for _, new in both}
        if len(inputs) >= _NEIGHBOURS and not any(new.has_other_effect(old) for old, new in both):
            same = f"which does what it did with all {len(inputs)} inputs"
            return f"the finding is about {name}(), {same}"
    return ""


RULES = (
    refute_equality,
    refute_outside,
    refute_named,
    refute_untouched,
    refute_table,
    refute_others,
    refute_asking,
)


def find_refutation(seen: Evidence, asked: Question) -> str:
    return next((why for rule in RULES if (why := rule(seen, asked))), "")
