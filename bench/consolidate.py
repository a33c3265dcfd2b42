"""How long consolidation takes: 1,000 to 100,000 findings: spread, in one hot region, without lines, and of one rule in one file.

python bench/consolidate.py [--most 100000]
"""

import argparse
import random
import time

from punchlist.model.dedup.merge import MergeRule, group_findings
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity

_CLAIMS = (
    "SQL built from {} by string formatting",
    "{} is used before it is assigned",
    "Missing check for None in {}",
    "Race between {} and the cache refresh",
    "{} swallows every exception",
    "Result of {} is never used",
    "Off by one in the loop over {}",
    "Token in {} is compared without constant time",
)
_RULES = (
    ("ruff", "S101"),
    ("bandit", "B101"),
    ("ruff", "F401"),
    ("pylint", "W0611"),
    ("ruff", "E501"),
    ("flake8", "E501"),
)
_REVIEWERS = ("alice", "bob", "agent-one", "agent-two")


def findings(count, shape, rng):
    for number in range(count):
        reviewer = rng.choice(_REVIEWERS)
        source, rule = rng.choice(_RULES) if rng.random() < 0.5 else (reviewer, "")
        line, path = rng.randrange(1, 2000), f"src/m{rng.randrange(max(count // 50, 1))}.py"
        if shape == "hot region":
            line, path = rng.randrange(100, 140), "src/hot.py"
        name = f"{rng.choice(('load', 'save', 'parse', 'send'))}_{rng.choice(('user', 'order', 'page'))}_{rng.randrange(count)}"
        title = rng.choice(_CLAIMS).format(name)
        if shape == "one rule":
            source, rule, title, path, line = *_RULES[0], "Use of assert", "src/hot.py", number + 1
        yield Finding(
            id=f"f{number}",
            source=source,
            rule=rule,
            title=title,
            category=rng.choice(("bug", "style", "security")),
            severity=rng.choice(list(Severity)),
            spot=Spot(path, None if shape == "no lines" else line),
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=100_000)
    most = parser.parse_args().most
    print(f"{'findings':>9}  {'shape':<11} {'rule':<6} {'seconds':>8} {'us each':>8} {'groups':>8}")
    for shape in ("spread", "hot region", "no lines", "one rule"):
        for rule in MergeRule:
            for count in (n for n in (1_000, 10_000, 100_000) if n <= most):
                given = list(findings(count, shape, random.Random(count)))
                start = time.perf_counter()
                made = group_findings(given, rule)
                took = time.perf_counter() - start
                print(
                    f"{count:>9,}  {shape:<11} {rule:<6} {took:>8.2f} {took / count * 1e6:>8.1f} {len(made):>8,}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
