"""Bugs planted into real projects, one operator or number each, and the original as the right fix: is it accepted?

    python bench/lies/planted.py --python VENV/bin/python [--each 4] [--seed 1] FOLDER:PACKAGE ...

FOLDER is a checkout with tests that its pytest can run. Each bug is in a function of its own and turns a test red; the findings say
where. All of one project are claimed in one run of punchlist.
"""

import argparse
import ast
import json
import shutil
import sys
import tempfile
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent))

from behaviours import FIXED
from mutants import mutants
from product import ROOT, WORKFLOW, environment, punchlist, settings
from repository import committed, run_tests, written


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("projects", nargs="+", help="FOLDER:PACKAGE")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--each", type=int, default=4)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--source", type=Path, default=ROOT / "src")
    asked = parser.parse_args()
    accepted = claims = 0
    for project in asked.projects:
        folder, _, package = project.rpartition(":")
        with tempfile.TemporaryDirectory(prefix="planted-", ignore_cleanup_errors=True) as made:
            found = measured(Path(folder), package, asked, Path(made))
        for title, (fixed, kinds, why) in found.items():
            print(f"{Path(folder).name:16} {title:60} {'accepted ' + ', '.join(kinds) if fixed else 'REFUSED ' + '; '.join(why)}", flush=True)  # fmt: skip
        accepted += sum(fixed for fixed, _, _ in found.values())
        claims += len(found)
    print(f"{accepted} of {claims} accepted")


def measured(project, package, asked, folder):
    root = folder / "repo"
    shutil.copytree(project, root, ignore=shutil.ignore_patterns(".git", "__pycache__"))
    chosen = chosen_bugs(root, package, asked)
    texts = {path: (root / path).read_text() for path, _, _, _ in chosen}
    with_all = dict(texts)
    for path, (first, last), _, block in chosen:
        with_all[path] = _put(with_all[path], texts[path], first, last, block)
    written(root, with_all)
    committed(root)
    return _claimed(root, folder, asked, chosen, texts)


def chosen_bugs(root, package, asked):
    """(path, lines, function, the function's text with the bug) for functions that chance picks and that tests see."""
    chance = Random(asked.seed)
    _, base = run_tests(root, python=asked.python)
    green = {name for name, passed in base.items() if passed}
    found, tried = [], 0
    places = [place for path in sorted((root / package).rglob("*.py")) for place in _functions(root, path)]  # fmt: skip
    for path, node, text in chance.sample(places, len(places)):
        if len(found) == asked.each or tried > 12 * asked.each:
            break
        lines = text.splitlines(keepends=True)
        own = "".join(lines[node.lineno - 1 : node.end_lineno])
        changes = list(dict.fromkeys(mutants(_dedent(own))))
        if not changes or any(each[0] == path for each in found):
            continue
        tried += 1
        block = _indent(chance.choice(changes), node.col_offset)
        written(root, {path: _put(text, text, node.lineno, node.end_lineno, block)})
        _, now = run_tests(root, python=asked.python)
        written(root, {path: text})
        red = [name for name in green if not now.get(name)]
        if 0 < len(red) < len(green) / 5:  # a tree in which nearly nothing works is no project
            found.append((path, (node.lineno, node.end_lineno), node.name, block))
    return found


def _functions(root, path):
    """Functions of the project's code without decorators; formatting that parsing would lose is of no matter here."""
    name = str(path.relative_to(root))
    if "test" in name:
        return
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and node.end_lineno - node.lineno > 2:  # fmt: skip
            yield name, node, text


def _dedent(text):
    import textwrap

    return textwrap.dedent(text)


def _indent(text, by):
    return "".join(" " * by + line if line.strip() else line for line in text.splitlines(keepends=True))  # fmt: skip


def _put(text, original, first, last, block):
    """The text with the lines first to last of the original replaced; they must be there once."""
    lines = original.splitlines(keepends=True)
    return text.replace("".join(lines[first - 1 : last]), block, 1)


def _claimed(root, folder, asked, chosen, texts):
    findings, fixes = [], []
    for path, (first, _), function, _ in chosen:
        title = f"{function} in {path} gives wrong results"
        findings.append({"title": title, "description": title, "file": path, "line": first + 1, "severity": "major", "category": "bug"})  # fmt: skip
        fixes.append({"when": title, "outcome": FIXED, "edits": [{"path": path, "content": texts[path]}]})  # fmt: skip
    (folder / "findings.json").write_text(json.dumps({"findings": findings}), "utf-8")
    (folder / "bench.yaml").write_text(WORKFLOW.replace("REPRODUCE", ""), "utf-8")
    (folder / "fixer.json").write_text(json.dumps({"lines": [{"role": "fixer", "fixes": fixes}]}), "utf-8")  # fmt: skip
    (folder / "second.json").write_text(json.dumps({"lines": []}), "utf-8")
    (folder / "settings.toml").write_text(settings(folder, python=asked.python, lean=()), "utf-8")
    env = environment(folder) | {"PYTHONPATH": str(asked.source)}
    punchlist(root, env, "run", "--all", "--yes", "--json", "--findings", str(folder / "findings.json"), "--workflow", str(folder / "bench.yaml"))  # fmt: skip
    report = json.loads(punchlist(root, env, "report", "--format", "json").stdout)
    found = {}
    for item in report["items"]:
        why = [attempt.get("why", "")[:200] for attempt in item.get("attempts", [])][-1:]
        kinds = sorted({proof["kind"] for proof in item.get("proofs", [])})
        found[item["title"]] = (item["status"] == "fixed", kinds, why)
    return found


if __name__ == "__main__":
    main()
