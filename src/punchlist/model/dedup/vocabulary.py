"""Words of a claim: the identifiers it names, and its vocabulary without inflection."""

import re
from functools import lru_cache
from keyword import kwlist

from punchlist.model.finding.late_pattern import late_pattern

_QUOTED = late_pattern(
    r"`([^`\n]{1,200})`|(?<![\w'])'\.*([A-Za-z_$][\w.$-]{0,80})'(?![\w'])|\"([A-Za-z_$][\w.$-]{0,80})\""
)
_SHAPED = late_pattern(
    r"""(?<![\w.])(?:
        [A-Za-z_$]\w*(?:(?:\.|::|->|\#)[A-Za-z_$]\w*)+   # dotted.name, Class::method
      | _*[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_*              # snake_case, CONSTANT_CASE
      | _+[A-Za-z]\w*                                    # _private
      | [a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]*)+               # camelCase
      | [A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+                # PascalCase
      | [A-Za-z]\w*(?=\(\))                              # call()
    )""",
    re.VERBOSE,
)
_IDENTIFIER = late_pattern(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*")
# Shaped like identifiers, but the language's or the reviewer's own words.
_NO_NAMES = frozenset(
    {*kwlist, "e.g", "i.e", "etc", "vs", "object", "self", "cls", "err", "exc"}
) | {"snake_case", "camelCase", "PascalCase", "CapWords", "UPPER_CASE", "CamelCase", "mixedCase"}
_WORD = late_pattern(r"[^\W_]+")
_HUMP = late_pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ENDINGS = """
    ization ations ation ities ments ingly edly ness ment ions ings ies ing ion ers ed es ly er s e
""".split()
_SHORTEST_STEM = 3


@lru_cache(maxsize=262144)
def extract_names(text: str) -> tuple[str, ...]:
    """Return the identifiers in a text, sorted: quoted ones, and words shaped like code."""
    found: set[str] = set()
    for match in _QUOTED.finditer(text):
        found.update(_IDENTIFIER.findall(match[1] or "") if match[1] else [match[2] or match[3]])
    found.update(match[0] for match in _SHAPED.finditer(text))
    return tuple(sorted(found - _NO_NAMES))


def last_parts(text: str) -> frozenset[str]:
    """Return the last part of each name in one spelling: `Page.load_all` is `loadAll`."""
    parts = (re.split(r"[.:>#]", name)[-1] for name in extract_names(text))
    return frozenset("_".join(split_words(part)) for part in parts)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the word without common English endings; crude, but always the same."""
    if word.isdecimal():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def split_words(name: str) -> list[str]:
    """Return the lower-case words of a text or identifier: `getUser` like `get_user`."""
    parts: list[str] = []
    for word in _WORD.findall(name):
        if word.islower() or word.isdecimal():
            parts.append(word)
        else:
            parts += [part.casefold() for part in _HUMP.split(word)]
    return parts


@lru_cache(maxsize=262144)
def vocabulary(text: str) -> frozenset[str]:
    """Return the stems of all words of a text, identifiers split."""
    return frozenset(stem(part) for part in split_words(text))
