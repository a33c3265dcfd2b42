"""Find the comments that a patch adds, so that code can be looked at without them."""

import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate

_PYTHON = (".py", ".pyi", ".pyw")
_SLASHED = (
    ".js .jsx .mjs .cjs .ts .tsx .mts .cts .css .scss .less .go .rs .java .kt .kts .c .h .cc .cpp"
    " .hpp .cs .swift .php .scala .jsonc .vue .svelte .astro .proto .zig .dart .groovy"
).split()
_HASHED = (
    ".sh .bash .dash .ksh .bats .zsh .yaml .yml .toml .rb .pl .tf .cfg .ini .conf .mk .nix .r .ps1"
    " .dockerfile .graphql .ex .exs .jl .cmake .env"
).split()
_STRING = r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
_AFTER_SLASHES = re.compile(
    rf"{_STRING}|`(?:\\.|[^`\\])*`|(?P<comment>//[^\n]*|/\*.*?\*/|<!--.*?-->)", re.DOTALL
)
_AFTER_HASH = re.compile(rf"{_STRING}|(?:(?<=\s)|\A)(?P<comment>#[^\n]*)")
_AT_LINE_START = re.compile(
    r"^[^\S\n]*(?P<comment>(?:#|//|--|;|%|REM\b|dnl\b)[^\n]*|<!--.*?-->|/\*.*?\*/)",
    re.DOTALL | re.MULTILINE,
)
_MEANT = re.compile(
    r"#!|#\s*-\*-|#\s*type:(?!\s*ignore)|//go:build\b|///\s*<reference"
    r"|#\s*shellcheck\s+(?:shell=|source(?:-path)?=(?!/dev/null))"
)
"""Comments that tell a tool what the code is, and silence nothing."""

Span = tuple[int, int]


def strip_new_comments(path: str, before: str, after: str) -> str:
    """Return the new text without the comments it adds; its lines keep their numbers."""
    parts: list[str] = []
    position = 0
    for start, end in _find_new_comments(path, before, after):
        parts.append(after[position:start].rstrip(" \t"))
        parts.append("\n" * after.count("\n", start, end))
        position = end
    return "".join([*parts, after[position:]])


def _find_new_comments(path: str, before: str, after: str) -> Iterator[Span]:
    """Yield the comments in changed lines that the lines they replace did not have."""
    fresh = _by_line(after, find_comments(path, after))
    if not fresh:
        return
    known = _by_line(before, find_comments(path, before))
    old, new = before.split("\n"), after.split("\n")
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = [change[1:] for change in changes if change[0] != "equal"]
    moved = Counter(line.strip() for first, last, *_ in changed for line in old[first:last])
    for first, last, new_first, new_last in changed:
        had = Counter(before[s:e] for line in range(first, last) for s, e in known.get(line, ()))
        for at in range(new_first, new_last):
            for start, end in fresh.get(at, ()):
                comment = after[start:end]
                code = new[at].replace(comment, "").strip()
                if moved[new[at].strip()] > 0 and code:
                    moved[new[at].strip()] -= 1
                elif had[comment] > 0 and not (code and moved[code]):
                    had[comment] -= 1
                elif not _MEANT.match(comment):
                    yield start, end


def find_comments(path: str, text: str) -> list[Span]:
    """Return where the comments of a file are, by the language that its name tells."""
    if path.endswith(_PYTHON):
        return _find_in_python(text)
    suffix = path[path.rfind(".") :].lower() if "." in path.rpartition("/")[2] else ""
    name = path.rpartition("/")[2].lower()
    hashed = suffix in _HASHED or text.startswith("#!") or name.startswith(("dockerfile", "make"))
    pattern = _AFTER_HASH if hashed else _AT_LINE_START
    pattern = _AFTER_SLASHES if suffix in _SLASHED else pattern
    found = (match.span("comment") for match in pattern.finditer(text) if match["comment"])
    return [(start, end) for start, end in found if start >= 0]


def _find_in_python(text: str) -> list[Span]:
    starts = list(accumulate(map(len, io.StringIO(text)), initial=0))
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return []
    comments = (token for token in tokens if token.type == tokenize.COMMENT)
    places = ((starts[token.start[0] - 1] + token.start[1], token.string) for token in comments)
    return [(start, start + len(comment)) for start, comment in places]


def _by_line(text: str, spans: Sequence[Span]) -> dict[int, list[Span]]:
    """Return the spans by the number of their first line, from 0."""
    found: dict[int, list[Span]] = {}
    line = position = 0
    for span in spans:
        line += text.count("\n", position, span[0])
        position = span[0]
        found.setdefault(line, []).append(span)
    return found
