"""Writes docs/reference/agent-matrix.md from the results that `make matrix` collected.

python tools/agent_matrix.py RESULTS
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "agent-matrix.md"
_HEAD = """<!-- Made by tools/agent_matrix.py from the results of `make matrix`; do not edit. -->
# Every workflow with every agent

Each of the five workflows was run end to end with the real programs of four coding agents, against a scripted model on loopback, in
seven tempers. The project has two faults; the agent under test reviews and fixes, another agent challenges and takes over where the
first one fails. In every run the ledger's audit found no lost finding, and what was called fixed was fixed on the branch.

A cell says how many of the two were fixed with which strongest proof, how the others ended, and the exit code
([exit codes](exit-codes.md)).

"""


def main() -> None:
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
    PAGE.write_text(page({row["cell"]: row for row in rows}), encoding="utf-8")


def page(rows: dict[str, dict[str, Any]]) -> str:
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "adapters" / "agents")]
    from test_matrix import AGENTS, TEMPERS, WORKFLOWS

    said = "".join(f"- **{temper}**: {about}\n" for temper, about in TEMPERS.items())
    tables = []
    for workflow in WORKFLOWS:
        lines = [f"| {workflow} | {' | '.join(AGENTS)} |", f"|---|{'---|' * len(AGENTS)}"]
        for temper in TEMPERS:
            cells = [_describe(rows.get(f"{workflow} {agent} {temper}")) for agent in AGENTS]
            lines.append(f"| {temper} | {' | '.join(cells)} |")
        tables.append("\n".join(lines))
    return f"{_HEAD}{said}\n" + "\n\n".join(tables) + "\n"


def _describe(row: dict[str, Any] | None) -> str:
    if row is None:
        return "not run"
    fixed = f"{row['fixed']} fixed ({', '.join(row['proofs'])})" if row["fixed"] else ""
    left = [f"{row['left'].count(each)} {each}" for each in dict.fromkeys(row["left"])]
    found = "" if row["found"] else "nothing found"
    return f"{'; '.join(filter(None, [fixed, *left, found]))}: exit {row['exit']}"


if __name__ == "__main__":
    main()
