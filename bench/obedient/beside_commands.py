"""Every command of the command line with realistic arguments, in the order in which a user comes to them."""

import os
import pty
import select
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from beside_world import commit_as_user

LONGEST = 240
UNMEASURED = -1000
"""In the place of an exit code: the command, or something that it offers, was not put to use."""


@dataclass(frozen=True)
class Step:
    """One use of a command; `words` begin with the names of the command."""

    words: tuple
    answers: str = ""
    """What is typed."""
    terminal: bool = False
    variables: tuple = ()
    folder: str = ""
    kinds: tuple = ()
    """If given, only kinds that begin so: nothing else of the repository concerns it."""
    moved: bool = False
    """Whether the user has committed something before."""
    staged: bool = False
    """Whether the user has staged a file."""

    @property
    def label(self):
        return " ".join(self.words) + " (terminal)" * self.terminal


def step(words, **more):
    return Step(tuple(words.split()), **more)


CI = (
    ("CI", "true"),
    ("GITHUB_ACTIONS", "true"),
    ("GITHUB_EVENT_NAME", "push"),
    ("GITHUB_REF", "refs/heads/feature"),
    ("GITHUB_REPOSITORY", "ada/shop"),
    ("GITHUB_SERVER_URL", "http://127.0.0.1:9"),
    ("GITHUB_API_URL", "http://127.0.0.1:9"),
    ("GITHUB_EVENT_PATH", "{repo}.event.json"),
)
STEPS = (
    step("doctor"),
    step("doctor --settings"),
    step("doctor --security"),
    step("doctor --json"),
    step("doctor --ask"),
    step("workflows list"),
    step("workflows show proven"),
    step("workflows check flow.yaml"),
    step("completion bash"),
    step("list"),
    step("review"),
    step("review --staged", staged=True),
    step("review --all --format sarif"),
    step("review src", folder="src"),
    step("run --dry-run"),
    step("run --dry-run --yes"),
    step("run --no-checks"),
    step("setup --show"),
    step("setup --yes"),
    step("doctor --json --set analyzers.enabled=auto"),
    step("run --yes"),
    step("status"),
    step("status --json"),
    step("show"),
    step("show last 1"),
    step("watch", terminal=True, answers="?\x1bqq"),
    step("watch --list", terminal=True, answers="qq"),
    step("trends"),
    step("report"),
    step("report --format html --open", variables=(("DISPLAY", ":99"),)),
    step("audit"),
    step("audit --against HEAD"),
    step("replay"),
    step("export --to evidence.jsonl"),
    step("export --note"),
    step("stop"),
    step("resume"),
    step("answer last A"),
    step("dismiss last 1 --why fine --shared"),
    step("dismissals"),
    step("dismissals --share"),
    step("review --all"),
    step("fix --from last --yes"),
    step("fix --findings FINDINGS --yes"),
    step("apply"),
    step("prove HEAD --yes"),
    step("prove main..HEAD --yes"),
    step("init"),
    step("init --agent"),
    step("init --github --gitlab --pre-commit"),
    step("allow"),
    step("run --all --yes", moved=True),
    step("apply --squash", moved=True),
    step("run --all --yes", terminal=True, moved=True),
    step("apply --by rule", terminal=True, moved=True),
    step("show", terminal=True),
    step("baseline --yes"),
    step("baseline --prune"),
    step("ci --dry-run", variables=CI),
    step("ci --yes", variables=CI),
    step(
        "pr 1 --dry-run --yes --set track.repository=ada/shop --set track.api=http://127.0.0.1:9",
        variables=(("GITHUB_TOKEN", "x"),),
    ),
    step("pr --yes"),
    step("discard"),
    step("allow --revoke"),
    step("store show"),
    step("fleet"),
    step("serve --new-token run --name ada"),
    step("serve --tokens"),
    step("mcp --print-config claude"),
    step("clean"),
    step("clean --all --reports --older-than 0 --environments --refuted"),
    step("demo -q", kinds=("PATH", "environment, active")),
)


def leaves(command, words=()):
    """The names of all commands of click's tree that have none below them."""
    import click

    if not isinstance(command, click.Group):
        return [" ".join(words)]
    context = click.Context(command)
    return [
        leaf
        for name in command.list_commands(context)
        for leaf in leaves(command.get_command(context, name), (*words, name))
    ]


def missing(steps, elsewhere):
    """Commands that no step uses."""
    from punchlist.cli.root import root

    used = {*(each.label for each in steps), *elsewhere}
    return [
        leaf for leaf in leaves(root) if not any(f"{each} ".startswith(f"{leaf} ") for each in used)
    ]


def run_step(ground, repo, env, each):
    """Exit code and output of one step."""
    env = {**env, **{name: value.replace("{repo}", str(repo)) for name, value in each.variables}}
    command = ground.command([str(ground.root / "tools/bin/punchlist"), *each.words])
    command = [
        str(ground.home / "findings.json") if word == "FINDINGS" else word for word in command
    ]
    run = run_on_terminal if each.terminal else run_plainly
    if each.moved:
        commit_as_user(repo, ground.home)
        ground.give_away(repo)
    with index(repo, "staged" if each.staged else "clean"):
        return run(command, repo / each.folder, env, each.answers)


@contextmanager
def index(repo, name):
    """For a while, git's index that was made before the settings were hostile: git itself would heed them."""
    own = repo / ".git/index"
    if name == "clean" or not own.exists():
        yield
        return
    kept = own.read_bytes()
    shutil.copyfile(repo / ".git/index.staged", own)
    yield
    own.write_bytes(kept)


def run_plainly(command, cwd, env, answers="", longest=LONGEST):
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        told, _ = process.communicate(answers.encode(), timeout=longest)
    except subprocess.TimeoutExpired:
        end(process)
        return UNMEASURED, "took too long"
    return process.returncode, told.decode("utf-8", "replace")


def run_on_terminal(command, cwd, env, answers, longest=40):
    """The same with a terminal, where the answers are typed one key at a time."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    told, keys, until = b"", list(answers), time.monotonic() + longest
    while time.monotonic() < until:
        ready, _, _ = select.select([ours], [], [], 1)
        if ready:
            try:
                told += os.read(ours, 65536)
            except OSError:
                break
        elif keys and told:
            os.write(ours, keys.pop(0).encode())
        elif process.poll() is not None:
            break
    end(process)
    os.close(ours)
    return process.returncode, told.decode("utf-8", "replace")


def end(process):
    """End a process and its group, first in peace."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
            return
