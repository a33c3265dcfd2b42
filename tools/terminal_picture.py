"""Draws docs/images/safe-fix.svg from what the tutorial's commands print: eight fixes, and the one that breaks a test.

`python tools/follow_docs.py --write` types these commands and draws it. The picture is the same for each run: times are left out.
"""

import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parents[1] / "docs/images/safe-fix.svg"
DEMO = (
    r"fix +8 patches",
    r"check +checks over 8 fixes: red",
    r"check +checks over 4 fixes.*: red",
    r"check +checks over 2 fixes.*: red",
    r"check +checks over 1 fix,.*: green",
    r"check +checks over 7 fixes: green",
    r"verdict +7 fixes may land, 1 may not",
)
ITEM = (
    r"Item 13 ",
    r"F401 ",
    r" +fix \(safe\): ",
    r" +round 1: fix rejected",
    r" +AttributeError: ",
    r" +-from ",
    r" +\+from ",
)
"""The lines that are shown, in order."""
COLORS = (
    (re.compile(r"^ +-.*"), "bad"),
    (re.compile(r"^ +\+.*"), "good"),
    (re.compile(r"^\$ .*"), "typed"),
    (re.compile(r"\bred\b|breaks \S+|\w+Error: .*"), "bad"),
    (re.compile(r"\bgreen\b|7 fixes may land"), "good"),
    (re.compile(r"fix \(safe\)|1 may not"), "mark"),
)
COLUMNS = 100
ADVANCE, HEIGHT, MARGIN = 8.0, 20, 20
STYLE = (
    "text{font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#c9d1d9;white-space:pre}"
    ".typed{fill:#fff;font-weight:bold}.good{fill:#56d364}.bad{fill:#ff7b72}.mark{fill:#e3b341}"
)


def draw(printed: Mapping[str, str]) -> str:
    """Return the picture of what the tutorial's commands printed, or '' if they were not typed."""
    demo, item = printed.get("punchlist demo --folder shop"), printed.get("punchlist show last 13")
    if demo is None or item is None:
        return ""
    lines = ["$ punchlist demo", *choose(demo, DEMO), "", "$ punchlist show last 13"]
    lines += choose(item, ITEM)
    width, height = COLUMNS * ADVANCE + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    rows = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + 15 + HEIGHT * number}">{color(line)}</text>'
        for number, line in enumerate(lines)
        if line
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" width="{width:g}" height="{height}" role="img">\n'
        "<title>Eight fixes; the tests go red; one fix that its linter calls safe is left out, seven land</title>\n"
        f"<style>{STYLE}</style>\n"
        f'<rect x=".5" y=".5" width="{width - 1:g}" height="{height - 1}" rx="8" fill="#0d1117" stroke="#6e7681"/>\n'
        f"{rows}\n</svg>\n"
    )


def choose(printed: str, patterns: tuple[str, ...]) -> Iterator[str]:
    """Yield the first line after the last one for each pattern, without times and cut to the width."""
    lines = iter(re.sub(r"^\[ *\d+s\] ", "", line) for line in printed.splitlines())
    for pattern in patterns:
        found = next((line for line in lines if re.match(pattern, line)), None)
        if found is None:
            raise SystemExit(f"the demo prints no line like {pattern!r}:\n{printed}")
        line = re.sub(r" \(unittest: 1 newly failing: \S+\)", "", found)
        yield line if len(line) <= COLUMNS else f"{line[: COLUMNS - 1]}…"


def color(line: str) -> str:
    """Return a line as SVG, with its words in colors."""
    for pattern, name in COLORS:
        if found := pattern.search(line):
            before, word, after = line[: found.start()], found[0], line[found.end() :]
            return f'{color(before)}<tspan class="{name}">{escape(word)}</tspan>{color(after)}'
    return escape(line, quote=False)
