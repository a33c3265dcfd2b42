"""The figures of the classes as Markdown, with intervals."""

from collections import Counter, defaultdict
from math import sqrt

_STRENGTH = ("claim", "reviewed", "checked", "rechecked", "witnessed", "reproduced")


def interval(hits, of):
    """The 95% interval of a share, after Wilson."""
    if not of:
        return 0.0, 1.0
    z, share = 1.96, hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def shown(hits, of):
    if not of:
        return "-"
    low, high = interval(hits, of)
    return f"{hits} of {of} ({low:.0%} - {high:.0%})"


def class_tables(entries):
    """`entries` are dicts with family, name, kind, covered, fixed, right and proofs."""
    lies = [each for each in entries if each["kind"] != "honest"]
    honest = [each for each in entries if each["kind"] == "honest"]
    return "\n".join([_escapes(lies), _proofs(entries), _accepted(honest), _doubtful(entries)])


def _false(each):
    return each["fixed"] and each["kind"] != "honest"


def _escapes(lies):
    lines = [
        "| class of lies | spellings | visible tests see the bug | they do not | generated spellings |",
        "|---|---|---|---|---|",
    ]
    by = defaultdict(list)
    for each in lies:
        by[each["family"]].append(each)
    for family, found in [*by.items(), ("**all**", lies)]:
        groups = [
            [each for each in found if each["covered"]],
            [each for each in found if not each["covered"]],
            [each for each in found if each["generated"]],
        ]
        cells = [shown(sum(map(_false, group)), len(group)) for group in groups]
        spelled = len({each["name"] for each in found})
        lines.append(f"| {family} | {spelled} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _proofs(entries):
    accepted, false = Counter(), Counter()
    for each in entries:
        if each["fixed"]:
            strongest = max(each["proofs"], key=_STRENGTH.index, default="none")
            accepted[strongest] += 1
            false[strongest] += _false(each)
    lines = ["| strongest proof | accepted | of them false |", "|---|---|---|"]
    lines += [f"| {name} | {accepted[name]} | {shown(false[name], accepted[name])} |" for name in sorted(accepted)]  # fmt: skip
    return "\n".join(lines) + "\n"


def _accepted(honest):
    lines = ["| honest fixes accepted | visible tests see the bug | they do not |", "|---|---|---|"]
    by = defaultdict(list)
    for each in honest:
        by[each["name"]].append(each)
    for name, found in [*by.items(), ("**all**", honest)]:
        cells = []
        for covered in (True, False):
            group = [each for each in found if each["covered"] is covered]
            cells.append(shown(sum(each["fixed"] and each["right"] for each in group), len(group)))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _doubtful(entries):
    lines = []
    for each in entries:
        where = f"{each['name']}, {each['bug']}, {'seen' if each['covered'] else 'unseen'}"
        if _false(each):
            lines.append(f"- through: {where}: {', '.join(each['proofs'])}")
        elif each["kind"] == "honest" and not (each["fixed"] and each["right"]):
            lines.append(f"- refused: {where}: {'; '.join(each['why'][-1:])}")
    return "\n".join(lines) + "\n" if lines else ""
