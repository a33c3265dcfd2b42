"""Split lines of code into comments, strings, numbers and keywords; linear in the text."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from posixpath import basename

from msgspec import Struct

_LONGEST = 1000
"""Characters of a line; a longer one is shown as it is."""
_STRING = r"""(?P<s>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)"""
_REST = r"(?P<n>\b\d[\w.]*)|(?P<w>[^\W\d]\w*)"
_FAMILIES = {
    "hash": (r'(?P<o>"""|\'\'\')|(?P<c>(?<!\S)#.*)', ""),
    "slash": (r"(?P<o>/\*)|(?P<c>//.*)", "*/"),
    "dash": (r"(?P<o>/\*)|(?P<c>--.*)", "*/"),
}
"""By family: what opens a block or begins a comment, and what closes a block if not the same."""
_SUFFIXES = {
    "hash": "py pyi rb sh bash zsh yaml yml toml cfg ini pl r mk nix",
    "slash": "js mjs cjs jsx ts mts tsx go rs java kt c h cc hh cpp hpp cs swift scala php css",
    "dash": "sql lua hs",
}
_NAMES = {"Makefile": "hash", "Dockerfile": "hash"}


class Token(Struct, frozen=True):
    """`kind`: c(omment), s(tring), n(umber), k(eyword) or empty."""

    kind: str
    text: str


class _Language(Struct, frozen=True):
    pattern: re.Pattern[str]
    closes: str
    keywords: frozenset[str]
    ignores_case: bool


def highlight_lines(path: str, lines: Iterable[str]) -> Iterator[tuple[Token, ...]]:
    """Yield the tokens of each line; together they are the line. Blocks that begin before the
    first line are not known.
    """
    language = _find_language(path)
    block = ""
    for line in lines:
        if language is None or len(line) > _LONGEST:
            yield (Token("", line),)
        else:
            tokens, block = _split_line(language, line, block)
            yield tokens


def _find_language(path: str) -> _Language | None:
    name = basename(path)
    suffix = name.rpartition(".")[2].lower()
    known = (family for family, all_ in _SUFFIXES.items() if suffix in all_.split())
    family = _NAMES.get(name) or next(known, "")
    return _load_language(family) if family else None


@cache
def _load_language(family: str) -> _Language:
    text = (files(__package__) / "keywords.toml").read_text("utf-8")
    opens, closes = _FAMILIES[family]
    pattern = re.compile(f"{opens}|{_STRING}|{_REST}")
    keywords = frozenset(tomllib.loads(text)[family].split())
    return _Language(pattern, closes, keywords, family == "dash")


def _split_line(language: _Language, line: str, block: str) -> tuple[tuple[Token, ...], str]:
    """Return the tokens, and what closes the block that goes on after the line, or ''."""
    tokens: list[Token] = []
    at = 0
    while at < len(line) or (block and at == 0):
        if block:
            end = line.find(block, at)
            stop = len(line) if end < 0 else end + len(block)
            tokens.append(Token("c" if language.closes else "s", line[at:stop]))
            at, block = stop, block if end < 0 else ""
            if block:
                break
            continue
        found = language.pattern.search(line, at)
        if found is None:
            break
        tokens.append(Token("", line[at : found.start()]))
        if found.lastgroup == "o":
            block = language.closes or found[0]
            tokens.append(Token("c" if language.closes else "s", found[0]))
        else:
            tokens.append(Token(_find_kind(language, found), found[0]))
        at = found.end()
    tokens.append(Token("", line[at:]))
    return tuple(_join_tokens(tokens)), block


def _find_kind(language: _Language, found: re.Match[str]) -> str:
    if found.lastgroup != "w":
        return found.lastgroup or ""
    word = found[0].lower() if language.ignores_case else found[0]
    return "k" if word in language.keywords else ""


def _join_tokens(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield the tokens without empty ones, neighbours of one kind as one."""
    last: Token | None = None
    for token in tokens:
        if not token.text:
            continue
        if last is not None and last.kind == token.kind:
            last = Token(last.kind, last.text + token.text)
            continue
        if last is not None:
            yield last
        last = token
    if last is not None:
        yield last
