"""How well duplicates are found.

    python bench/duplicates.py comments PATH             labelled comments of review tools: words only, no file and no line
    python bench/duplicates.py analyzers FOLDER...       ruff, pylint, flake8 and bandit (found on PATH) over real code

`comments`: a JSON list of {"pr": url, "comments": [{"tool", "text", "issue"}]}. Pairs of labelled comments of different tools on
one pull request; the threshold is chosen on the other repositories for a precision of 0.92 and judged on the one left out.

`analyzers`: truth does not import the product's map. Two findings are one defect if they are of different tools, on one
line, and their rules are the same by what the tools say of themselves (flake8 and ruff use the same code; ruff lists the
rules it took from pylint and bandit, with their numbers; pylint and ruff give rules the same name) or by the list JUDGED
below. That list was written by the author of the product's map and after it, so agreement shows right pairing more than a
right map. Where a line has several of a rule, those in one column belong together, then the k-th of one tool to the k-th of
the other.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

from punchlist.model.dedup import prose_claims as claims
from punchlist.model.dedup.merge import MergeRule, group_findings
from punchlist.model.dedup.similarity import ClaimSimilarity
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity

JUDGED = """
W0611=F401 W0612=F841 W0612=RUF059 W0612=B007 W0613=ARG001 W0613=ARG002 W0613=ARG003 W0613=ARG004 W0613=ARG005 W0401=F403
E0602=F821 E0102=F811 W0404=F811 C0103=N801 C0103=N802 C0103=N803 C0103=N806 C0103=N815 C0103=N816 W0622=A001 W0622=A002
W0622=A004 C0209=UP031 C0209=UP032 W0511=FIX001 W0511=FIX002 W0511=FIX003 W0511=FIX004 C0321=E701 C0321=E702 C0321=E704
C0301=E501 C0303=W291 C0303=W293 C0304=W292 C0305=W391 W0301=E703 C0410=E401 C0413=E402 C3001=E731 C0121=E711 C0121=E712
C0123=E721 R0123=F632 W0702=E722 W0718=BLE001 W0719=TRY002 W0706=TRY203 W0707=B904 C0114=D100 C0114=D104 C0115=D101
C0115=D106 C0116=D102 C0116=D103 C0112=D419 W0107=PIE790 W2301=PIE790 W0212=SLF001 R1710=RET503 R1705=RET505 R1720=RET506
R1724=RET507 R1723=RET508 R1725=UP008 R0205=UP004 R1729=C419 R1735=C408 R1734=C408 R1721=C416 R1718=C401 R1717=C402
R1732=SIM115 R1703=SIM103 R1719=SIM210 C0201=SIM118 W0102=B006 W0104=B018 W0106=B018 W0109=F601 W0130=B033 W0122=S102
W0122=B102 W0123=S307 W0123=B307 W0199=F631 W0640=B023 W0150=B012 W1201=G002 W1202=G001 W1203=G004 W1309=F541 W1401=W605
W1404=ISC001 W1406=UP025 W1518=B019 W3101=S113 W3101=B113 E0711=F901 W1515=T100 W4904=UP035 W4905=UP051 R1737=UP028
C0325=UP034 E0213=N805 C0202=N804 C0204=N804 W0603=PLW0603
"""


def out(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def rows(folders):
    """(tool, rule, path, line, column, end line, end column, message) of every finding."""
    for m in json.loads(
        out(
            "ruff",
            "check",
            "--isolated",
            "--select",
            "ALL",
            "--preview",
            "--output-format",
            "json",
            *folders,
        )
    ):
        if m["code"]:
            start, end = m["location"], m["end_location"]
            path = os.path.relpath(m["filename"])
            yield (
                "ruff",
                m["code"],
                path,
                start["row"],
                start["column"],
                end["row"],
                end["column"],
                m["message"],
            )
    for m in json.loads(out("bandit", "-q", "-f", "json", "-r", *folders))["results"]:
        end = m.get("end_col_offset")
        path = os.path.relpath(m["filename"])
        yield (
            "bandit",
            m["test_id"],
            path,
            m["line_number"],
            m["col_offset"] + 1,
            m["line_range"][-1],
            end and end + 1,
            m["issue_text"],
        )
    for m in json.loads(out("pylint", "-j2", "--rcfile=/dev/null", "-f", "json2", *folders))[
        "messages"
    ]:
        end = m["endColumn"]
        path = os.path.relpath(m["path"])
        yield (
            "pylint",
            m["messageId"],
            path,
            m["line"],
            m["column"] + 1,
            m["endLine"],
            end and end + 1,
            m["message"],
        )
    for line in out("flake8", "--isolated", "--max-complexity", "10", *folders).splitlines():
        if found := re.match(r"(.*?):(\d+):(\d+): (\w+) (.*)", line):
            yield (
                "flake8",
                found[4],
                os.path.relpath(found[1]),
                int(found[2]),
                int(found[3]),
                None,
                None,
                found[5],
            )


def same_by_documentation():
    """What the tools say of themselves, as a set of rule pairs."""
    ruff = [
        rule
        for rule in json.loads(out("ruff", "rule", "--all", "--output-format", "json"))
        if rule["code"]
    ]
    pylint = {
        found[2]: found[1]
        for found in re.finditer(
            r"^:(\S+) \((\w\d{4})\)", out("pylint", "--list-msgs"), re.MULTILINE
        )
    }
    pairs = {
        frozenset({rule["code"], code})
        for rule in ruff
        for code, name in pylint.items()
        if name == rule["name"]
    }
    pairs |= {
        frozenset({rule["code"], rule["code"][2:]}) for rule in ruff if rule["linter"] == "Pylint"
    }
    pairs |= {
        frozenset({rule["code"], "B" + rule["code"][1:]})
        for rule in ruff
        if rule["linter"] == "flake8-bandit"
    }
    return pairs | {frozenset(pair.split("=")) for pair in JUDGED.split()}


def truth(found):
    """Pairs of positions that are one defect."""
    known = same_by_documentation()
    here = defaultdict(lambda: defaultdict(list))
    for at, (tool, rule, path, line, *_) in enumerate(found):
        here[path, line][tool, rule].append(at)
    for rules in here.values():
        for (one, mine), (two, yours) in itertools.combinations(rules.items(), 2):
            if one[0] != two[0] and (one[1] == two[1] or frozenset({one[1], two[1]}) in known):
                yield from paired(found, mine, yours)


def paired(found, mine, yours):
    """Those in one column, then the k-th of those left if there are as many on both sides."""
    column = {at: found[at][4] or 0 for at in (*mine, *yours)}
    mine, yours = sorted(mine, key=column.get), sorted(yours, key=column.get)
    for a in list(mine):
        for b in [b for b in yours if column[a] == column[b]][:1]:
            mine.remove(a)
            yours.remove(b)
            yield frozenset((a, b))
    if len(mine) == len(yours):
        yield from (frozenset(pair) for pair in zip(mine, yours, strict=True))


def components(count, pairs):
    parent = list(range(count))

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i

    for pair in pairs:
        a, b = sorted(map(root, pair))
        parent[b] = a
    return [root(i) for i in range(count)]


def analyzers(folders):
    found = list(dict.fromkeys(rows(folders)))
    findings = [
        Finding(
            id=str(at),
            source=tool,
            rule=rule,
            title=text,
            severity=Severity.MINOR,
            category=rule,
            spot=Spot(path, line, end, column, stop),
        )
        for at, (tool, rule, path, line, column, end, stop, text) in enumerate(found)
    ]
    true_pairs = set(truth(found))
    defect = components(len(found), true_pairs)
    # Of one defect are also the second and third tool's: the pairs of a whole component.
    by_defect = defaultdict(list)
    for at, number in enumerate(defect):
        by_defect[number].append(at)
    true_pairs = {
        frozenset(p)
        for same in by_defect.values()
        for p in itertools.combinations(same, 2)
        if found[p[0]][0] != found[p[1]][0]
    }
    tools = dict(Counter(row[0] for row in found))
    print(
        f"{len(found):,} findings {tools}, {len(true_pairs):,} duplicate pairs, {len(by_defect):,} defects\n"
    )
    print(f"{'rule':<7}{'precision':>10}{'recall':>8}{'F1':>7}{'swallowed':>11}{'groups':>9}")
    for rule in MergeRule:
        made = group_findings(findings, rule)
        merged = {
            frozenset((int(a.id), int(b.id)))
            for g in made
            if len(g) < 200
            for a, b in itertools.combinations(g, 2)
            if a.source != b.source
        }
        crowd = sum(len(g) * (len(g) - 1) // 2 for g in made if len(g) >= 200)
        right = len(merged & true_pairs)
        precision, recall = right / max(len(merged) + crowd, 1), right / len(true_pairs)
        swallowed = sum(len({defect[int(f.id)] for f in g}) - 1 for g in made) / len(by_defect)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        print(
            f"{rule:<7}{precision:>10.3f}{recall:>8.3f}{f1:>7.3f}{swallowed:>11.2%}{len(made):>9,}"
        )
        if rule is MergeRule.SMART:
            explain(found, merged - true_pairs, "merged, not one by the truth table")
            explain(found, true_pairs - merged, "one by the truth table, not merged")


def explain(found, pairs, what):
    kinds = Counter(
        " ".join(sorted(f"{found[at][0]}:{found[at][1]}" for at in pair)) for pair in pairs
    )
    print(
        f"        {what}: "
        + (", ".join(f"{kind} x{count}" for kind, count in kinds.most_common(8)) or "none")
    )


def comments(path):
    pulls = [
        (pull["pr"].split("/")[4], pull["comments"])
        for pull in json.loads(Path(path).read_text(encoding="utf-8"))
    ]
    repositories = sorted({repository for repository, _ in pulls})
    judged = [
        (repository, kept, at, a, b, same)
        for at, (repository, kept) in enumerate(pulls)
        for a, b, same in labelled(kept)
    ]
    same = sum(row[-1] for row in judged)
    print(
        f"{len(pulls)} pull requests of {', '.join(repositories)}: {len(judged):,} pairs, {same:,} duplicates\n"
    )
    print("likeness of two texts")
    models = [ClaimSimilarity([c["text"] for c in kept]) for _, kept in pulls]
    left_one_out(
        repositories,
        {row[:1] + row[2:5]: models[row[2]].score_pair(row[3], row[4]) for row in judged},
        judged,
    )
    print("\ngroups of the smart rule, by the threshold for text alone")
    shipped = claims._ALIKE  # noqa: SLF001 - the bench moves the threshold to show what it does
    steps = [step / 100 for step in range(16, 62, 2)]
    scores = {row[:1] + row[2:5]: 0.0 for row in judged}
    for step in steps:
        claims._ALIKE = step  # noqa: SLF001 - as above
        group = [grouped(kept) for _, kept in pulls]
        scores.update(
            {key: step for key in scores if group[key[1]][key[2]] == group[key[1]][key[3]]}
        )
    left_one_out(repositories, scores, judged)
    claims._ALIKE = shipped  # noqa: SLF001 - as above
    group = [grouped(kept) for _, kept in pulls]
    table("as shipped", [(group[at][a] == group[at][b], same) for _, _, at, a, b, same in judged])


def labelled(kept):
    for a, b in itertools.combinations(
        [at for at, comment in enumerate(kept) if comment["issue"]], 2
    ):
        if kept[a]["tool"] != kept[b]["tool"]:
            yield a, b, kept[a]["issue"] == kept[b]["issue"]


def grouped(kept):
    findings = [
        Finding(
            id=str(at), source=c["tool"], title=c["text"], spot=Spot("?"), severity=Severity.MINOR
        )
        for at, c in enumerate(kept)
    ]
    return {
        int(finding.id): number
        for number, group in enumerate(group_findings(findings))
        for finding in group
    }


def left_one_out(repositories, scores, judged):
    verdicts = []
    for out_ in repositories:
        train = [(scores[row[:1] + row[2:5]], row[-1]) for row in judged if row[0] != out_]
        threshold = chosen(train)
        rest = [
            (scores[row[:1] + row[2:5]] >= threshold, row[-1]) for row in judged if row[0] == out_
        ]
        table(f"{out_} (>= {threshold:.2f})", rest)
        verdicts += rest
    table("all, left out", verdicts)


def chosen(train, precision=0.92):
    """The lowest threshold that keeps this precision on the training side."""
    best, right, said = 1.0, 0, 0
    for score, rows_ in itertools.groupby(sorted(train, reverse=True), key=lambda row: row[0]):
        for _, same in rows_:
            said, right = said + 1, right + same
        if score > 0 and right / said >= precision:
            best = score
    return best


def table(name, verdicts):
    said = sum(merged for merged, _ in verdicts)
    right = sum(merged and same for merged, same in verdicts)
    print(
        f"  {name:<32} precision {right / max(said, 1):.3f}  recall {right / max(sum(same for _, same in verdicts), 1):.3f}"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("comments", "analyzers"))
    parser.add_argument("paths", nargs="+")
    given = parser.parse_args()
    if given.what == "comments":
        comments(given.paths[0])
    else:
        analyzers(given.paths)


if __name__ == "__main__":
    main()
