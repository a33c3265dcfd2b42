"""Every child of punchlist comes through one door, which is told whose program it is; this is the list of its callers."""

import ast
from pathlib import Path

import punchlist

SOURCE = Path(punchlist.__file__).parent

CALLS = {
    "adapters/agents/cli_agent.py": ["users"],
    "adapters/agents/detect.py": ["users"],
    "adapters/analyzers/tool.py": ["kit.find_origin", "kit.find_origin"],
    "adapters/checks/runner.py": ["theirs"],
    "adapters/compare/comparison.py": ["theirs"],
    "adapters/compare/replay/bare.py": ["theirs"],
    "adapters/compare/replay/recording.py": ["theirs"],
    "adapters/egress/run_behind_proxy.py": ["origin"],
    "adapters/environments/find_pythons.py": ["users"],
    "adapters/environments/make_environment.py": ["theirs", "users"],
    "adapters/git/command.py": ["ours", "ours"],
    "adapters/git/hooks.py": ["theirs"],
    "adapters/rest/remote.py": ["users"],
    "app/doctor.py": ["ours"],
    "app/sandboxes.py": ["ours"],
}
"""By module: whose programs it starts. A new line here is a decision: why may that program run, and behind which walls?"""

BESIDE = {
    "adapters/process/run.py": "the door itself",
    "adapters/process/descendants.py": "/bin/sh, which ends children when we are killed, and `ps` of the system",
    "adapters/process/browser.py": "the user's browser, found outside of repositories",
    "adapters/sandbox/support.py": "bubblewrap and the Landlock launcher, tried with `true`",
    "adapters/sandbox/landlock/restrict.py": "becomes the child, behind the walls that it has just put up",
    "adapters/checks/child_lines.py": "runs in the sandbox of a check",
}
"""Modules that start or become a program by other means, and why."""

STARTERS = {"subprocess", "webbrowser", "pty", "multiprocessing"}
CALLED = {"system", "popen", "fork", "forkpty", "startfile"}
BEGIN = ("exec", "spawn", "posix_spawn", "create_subprocess", "subprocess_")


def list_modules():
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())


def find_origins(tree):
    """Yield the `origin` of each call of the door in a module, '' if it has none."""
    doors = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module, alias.name)
        in {
            ("punchlist.adapters.process.run", "run"),
            ("punchlist.adapters.egress.run_behind_proxy", "run_behind_proxy"),
        }
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        words = [node.func, *node.args]  # also of `partial(run, ...)`
        if any(isinstance(word, ast.Name) and word.id in doors for word in words):
            given = [word.value for word in node.keywords if word.arg == "origin"]
            yield ast.unparse(given[0]) if given else ""


def test_every_caller_of_the_door_says_whose_program_it_starts():
    found = {}
    for name, tree in list_modules():
        origins = [text.partition("(")[0].removeprefix("Origin.") for text in find_origins(tree)]
        if origins:
            found[name] = sorted(text if "." in text else text.lower() for text in origins)
    assert found == {name: sorted(kinds) for name, kinds in CALLS.items() if kinds}


def test_no_other_module_starts_a_program():
    found = set()
    for name, tree in list_modules():
        for node in ast.walk(tree):
            imported = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            called = node.attr if isinstance(node, ast.Attribute) else ""
            of_os = (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in {"os", "loop", "asyncio"}
            )
            if STARTERS.intersection(imported) or (
                of_os and (called in CALLED or called.startswith(BEGIN))
            ):
                found.add(name)
    assert found == BESIDE.keys()
