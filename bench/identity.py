"""How many findings keep their identity when the code changes.

    python bench/identity.py FOLDER...      with ruff on PATH

Each folder is copied, reviewed with a broad rule set, changed, and reviewed again: reformatted to 60 and to 140 columns,
with lines inserted, with half of the fixes applied. Truth does not come from the code under test: a place is known by the
position of its token in the file's token stream (reformatting), by the lines we put in, or by the edits we made. "still"
are the findings that truth finds again; "kept" is the share of them matched with themselves, "swapped" with another one;
"fingerprint" is the share whose fingerprint alone is the same.
"""

import argparse
import io
import json
import random
import shutil
import subprocess
import tempfile
import tokenize
from bisect import bisect_left
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from punchlist.model.dedup.identity import Source, fingerprint, match_findings
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity

# Layout is what a formatter changes, so rules about layout say nothing about identity after formatting.
_RULES = [
    "--select",
    "ALL",
    "--ignore",
    "E1,E2,E3,E5,E70,W,COM,Q,D2,D3,ISC,I,UP034,RUF100,E501,CPY,D100,D104,INP,ERA,UP025,UP015",
]


def review(root):
    command = ["ruff", "check", "--isolated", "--preview", "--output-format", "json", *_RULES, "."]
    reported = json.loads(
        subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
    )
    sources = {}
    found = []
    for number, m in enumerate(reported):
        if not m["code"]:
            continue
        path = str(Path(m["filename"]).relative_to(root.resolve()))
        if path not in sources:
            sources[path] = Source(path, (root / path).read_text(encoding="utf-8"))
        spot = Spot(
            path,
            m["location"]["row"],
            m["end_location"]["row"],
            m["location"]["column"],
            m["end_location"]["column"],
        )
        context = sources[path].context_at(spot, m["message"])
        found.append(
            Finding(
                id=str(number),
                source="ruff",
                rule=m["code"],
                title=m["message"],
                spot=spot,
                severity=Severity.MINOR,
                context=context,
            )
        )
    return found, [m for m in reported if m["code"]]


def tokens(path):
    """(line, column) to the number of the word that stands there, or that comes next."""
    text = path.read_text(encoding="utf-8")
    places = []
    with suppress(tokenize.TokenError, IndentationError):  # what was read so far is still in order
        places.extend(
            token.start
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if is_word(token)
        )
    return places


def is_word(token):
    return token.type in (tokenize.NAME, tokenize.NUMBER) or (
        token.type == tokenize.OP and token.string not in "()[]{},;"
    )


def by_token(root, found):
    places, keys = {}, []
    for finding in found:
        path = finding.spot.path
        if path not in places:
            places[path] = tokens(root / path)
        at = (finding.spot.line, finding.spot.column - 1)
        index = bisect_left(places[path], at)
        keys.append(
            (
                finding.rule,
                path,
                index,
                finding.title if finding.rule.startswith(("F", "ARG", "N")) else "",
            )
        )
    return keys


def reformatted(width):
    def change(root, _found, _reported, _rng):
        subprocess.run(
            ["ruff", "format", "--isolated", "--line-length", str(width), "-q", "."],
            cwd=root,
            check=True,
        )

    return change, by_token


def insert(root, _found, _reported, rng):
    """Statements between top-level statements, remembered by a comment that only truth reads."""
    for path in root.rglob("*.py"):
        lines = path.read_text(encoding="utf-8").split("\n")
        out = []
        for at, line in enumerate(lines):
            starts = line.startswith(("def ", "class ", "@", "import ", "from ")) and (
                not at or not lines[at - 1].startswith("@")
            )
            if starts and rng.random() < 0.3:
                out += [f"# inserted {rng.random()}"] * rng.randrange(1, 6)
            out.append(line)
        path.write_text("\n".join(out), encoding="utf-8")


def by_own_line(root, found):
    kept = {}
    for path in {finding.spot.path for finding in found}:
        number, kept[path] = 0, {}
        for at, line in enumerate((root / path).read_text(encoding="utf-8").split("\n"), 1):
            number += not line.startswith("# inserted ")
            kept[path][at] = number
    return [
        (f.rule, f.spot.path, kept[f.spot.path][f.spot.line], f.spot.column, f.title) for f in found
    ]


def fix_half(root, _found, reported, rng):
    """Applies half of the fixes, and remembers from which new offset on the text is shifted by how much."""
    edits = defaultdict(list)
    for m in reported:
        if m["fix"] and rng.random() < 0.5:
            for edit in m["fix"]["edits"]:
                edits[str(Path(m["filename"]).relative_to(root.resolve()))].append(edit)
    moved = {}
    for path, changes in edits.items():
        text = (root / path).read_text(encoding="utf-8")
        starts = [0]
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        spans = sorted(
            (_offset(starts, e["location"]), _offset(starts, e["end_location"]), e["content"])
            for e in changes
        )
        pieces, end, shifts, grown = [], 0, [], 0
        for start, stop, content in spans:
            if start < end or (shifts and start == end):
                continue
            pieces += [text[end:start], content]
            grown += len(content) - (stop - start)
            shifts.append((stop + grown, grown))
            end = stop
        (root / path).write_text("".join([*pieces, text[end:]]), encoding="utf-8")
        moved[path] = shifts
    fix_half.moved = moved


def _offset(starts, place):
    return starts[place["row"] - 1] + place["column"] - 1


def by_offset(root, found):
    """The old offset of every finding, through the edits that were made."""
    moved = getattr(fix_half, "moved", {}) if getattr(by_offset, "changed", False) else {}
    starts, keys = {}, []
    for finding in found:
        path = finding.spot.path
        if path not in starts:
            starts[path] = [0]
            for line in (root / path).read_text(encoding="utf-8").split("\n"):
                starts[path].append(starts[path][-1] + len(line) + 1)
        at = starts[path][finding.spot.line - 1] + finding.spot.column - 1
        shift = max((s for s in moved.get(path, ()) if s[0] <= at), default=(0, 0))[1]
        keys.append((finding.rule, path, at - shift))
    return keys


def measure(folder, change, truth, rng):
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "code"
        shutil.copytree(folder, root)
        old, reported = review(root)
        by_offset.changed = False
        before = truth(root, old)
        change(root, old, reported, rng)
        new, _ = review(root)
        by_offset.changed = True
        after = truth(root, new)
    return score(old, new, before, after)


def score(old, new, before, after):
    where = defaultdict(list)
    for index, key in enumerate(before):
        where[key].append(index)
    pairs = match_findings(old, new)
    prints = defaultdict(list)
    for index, finding in enumerate(old):
        prints[fingerprint(finding)].append(index)
    still = kept = swapped = printed = 0
    for index, key in enumerate(after):
        same = where.get(key, ())
        if not same:
            continue
        still += 1
        kept += pairs.get(index) in same
        swapped += index in pairs and pairs[index] not in same
        printed += any(i in same for i in prints.get(fingerprint(new[index]), ()))
    return len(old), still, kept, swapped, printed


_CHANGES = {
    "60 columns": reformatted(60),
    "140 columns": reformatted(140),
    "lines inserted": (insert, by_own_line),
    "half of the fixes": (fix_half, by_offset),
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    folders = parser.parse_args().folders
    print(f"{'change':<20}{'before':>9}{'still':>9}{'kept':>9}{'swapped':>9}{'fingerprint':>13}")
    for name, (change, truth) in _CHANGES.items():
        total = [0] * 5
        for folder in folders:
            total = [
                a + b
                for a, b in zip(
                    total, measure(folder, change, truth, random.Random(7)), strict=True
                )
            ]
        before, still, *rest = total
        kept, swapped, printed = (part / max(still, 1) for part in rest)
        print(
            f"{name:<20}{before:>9,}{still:>9,}{kept:>9.2%}{swapped:>9.2%}{printed:>13.2%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
