"""Every command that is printed as a next step can be typed where it is printed."""

import os
import sqlite3
import subprocess
import time
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import NamedTuple

import pytest
from printed_hints import MENTION, HintText, collect, collect_files, find_fault, find_hints, split
from typed_command import CART, Punchlist, Told

import fresh_clone
import needs
from postgres_server import find_programs, start_server
from punchlist.cli.exit_codes import Exit

TEST = "import unittest, cart\n\n\nclass Test(unittest.TestCase):\n    def test_it(self):\n        cart.total([1])\n"
REVIEW = '[{"path": "cart.py", "line": 1, "title": "`os` is imported for nothing"}]'

WORDS = {"last", "show", "upgrade", "proven", "bash", "zsh", "fish", "run"}
"""Small words that are arguments; others are the rest of a sentence."""
NO_HINTS = (
    "is no result of punchlist ci",
    "</code> of punchlist run ",
    "<sub>item {} of punchlist run {}</sub>",
)


def is_no_hint(told: HintText) -> bool:
    return any(each in told.text for each in NO_HINTS)


@pytest.mark.parametrize("told", [*collect(), *collect_files()], ids=str)
def test_a_command_in_a_text_can_be_told_from_the_text_and_there_is_one_like_it(told: HintText):
    if is_no_hint(told):
        return
    hints = find_hints(told.text)
    assert len(hints) == len(MENTION.findall(told.text)), "write it in backticks"
    assert [fault for fault in map(find_fault, hints) if fault] == []
    bare = [hint for hint in hints if f"`{hint}`" not in told.text and f">{hint}<" not in told.text]
    prose = {
        word for hint in bare for word in split(hint)[1][1:] if word.isalpha() and word.islower()
    }
    assert prose <= WORDS, "write it in backticks"


SITUATIONS = {}
"""By name: the texts that are printed there, and what brings them about."""


def situation(*texts: str, soak: bool = False):
    """The function yields each command line that was typed, as it was answered."""

    def keep(bring_about):
        SITUATIONS[bring_about.__name__] = (texts, bring_about, soak)
        return bring_about

    return keep


class Answer(NamedTuple):
    """What was printed, and where what it tells to type is typed."""

    punchlist: Punchlist
    told: Told


class Ground:
    """A repository with one commit of four defects, and state folders."""

    def __init__(self, repo, folder: Path) -> None:
        self.repo = repo
        self.folder = folder
        self.homes = 0
        self._ran = None
        repo.commit({"README": "A cart."})
        self._head = repo.commit({"cart.py": CART})

    def begin(self) -> None:
        self.repo.git("reset", "--quiet", "--hard", self._head)
        self.repo.git("clean", "--quiet", "--force", "-dx")
        self.repo.write("review.json", REVIEW)
        (self.repo.root / ".git/hooks/pre-commit").unlink(missing_ok=True)

    def fresh(self, **env: str) -> Punchlist:
        """A state folder without a run."""
        self.homes += 1
        made = Punchlist(self.folder / f"state{self.homes}", self.repo.root)
        made.env |= env
        return made

    def ran(self) -> Punchlist:
        """A state folder with a run over everything, in which one item is fixed and two are left."""
        if self._ran is None:
            self._ran = self.fresh()
            ran = self._ran("run", "--all")
            assert ran.returncode == 1, ran.stderr
        return self._ran

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)


def ask(punchlist, *arguments, **env) -> Answer:
    """Type a command with these variables, which stay for what it tells to type."""
    here = copy(punchlist)
    here.env = punchlist.env | env
    return Answer(here, here(*arguments))


@situation("No run is recorded here yet. `punchlist run` starts one.", "punchlist run")
def without_a_run(ground):
    yield ask(ground.fresh(), "list")
    yield ask(ground.fresh(), "trends")
    yield ask(ground.fresh(), "status")


@situation(
    'punchlist list, or "last" for the newest',
    '"last", or a part of an id: punchlist list',
    "{} last {}; `punchlist list` shows the runs",
    "its items are 1 to {}: punchlist show {}",
    "`punchlist show {}` lists them",
    "punchlist show {}",
    "give numbers or a range (3-20), or --rule or --path; `punchlist show` lists them",
    "punchlist report {}",
    "punchlist status {}",
    "run {} has ended; nothing to resume (punchlist status {})",
    "`punchlist list` shows them all",
    "`punchlist status` shows what the run waits for",
)
def after_a_run(ground):
    for line in (
        "status nosuch", "show ?!", "show 1 2", "show last 99", "dismiss last --rule NOSUCH --why x",
        "dismiss last 99 --why x", "dismiss last", "report last --format agent-report",
        "fix --from last --item 99", "status 3", "stop last", "stop", "resume last", "answer last y", "answer last",
    ):  # fmt: skip
        yield ask(ground.ran(), *line.split())


@situation(
    "`punchlist fix --findings FILE`, `punchlist fix --from RUN` or `punchlist run`",
    "`punchlist fix --from RUN --item ITEM`, without --findings",
    "punchlist clean --reports --older-than 30",
    "punchlist workflows show {}",
    "`punchlist workflows` lists them",
    "see `punchlist workflows show proven`",
    "`punchlist workflows show proven` prints one that works",
    "ask for at least 1, or use `punchlist review`",
    "punchlist run --dry-run",
    "elsewhere: `punchlist review --base REV --check` or `punchlist pr NUMBER`",
    "`punchlist run --all` reviews everything",
    "`punchlist status`, or leave out --follow",
    "punchlist doctor",
    "{}; `punchlist doctor` shows which are there",
    "`punchlist doctor --settings` lists them",
    "`punchlist doctor --settings` lists what can be in it",
    "punchlist doctor --ask --set agents.use=claude",
)
def of_a_wrong_command_line(ground):
    ran = ground.ran()
    steps = {
        "none": "about: x\nsteps: []\n",
        "list": "- x\n",
        "text": "a: [\n",
        "verb": "steps:\n- x\n",
    }
    files = [ground.write(f"{name}.yaml", text) for name, text in steps.items()]
    for line in (
        "fix", "fix --item 1 --findings review.json", "clean --reports", "workflows proven",
        "run --workflow nosuch", *(f"workflows check {file}" for file in files), "setup",
        "run --workflow converge --rounds 0 --agent claude", "ci", "watch last", "doctor --ask",
        "run --workflow accountable", "run --set nosuch=1",
    ):  # fmt: skip
        yield ask(ran, *line.split())
    yield ask(ran, "run", PUNCHLIST_NOSUCH="1")
    ran.analyzers = ""
    yield ask(ran, "run", PUNCHLIST_ANALYZERS__ENABLED="[]")
    ran.analyzers = "ruff"
    yield ask(ran, "run", PUNCHLIST_CONFIG=ground.write("bad.toml", "a = "))
    job = {
        "GITHUB_EVENT_NAME": "gollum",
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_SERVER_URL": "https://a",
    }
    yield ask(ran, "ci", GITHUB_ACTIONS="true", **job)
    job = {"CI_PIPELINE_SOURCE": "web", "CI_PROJECT_PATH": "a/b", "CI_SERVER_URL": "https://a"}
    yield ask(ran, "ci", GITLAB_CI="true", **job)


@situation(
    "punchlist apply {}",
    "punchlist fix --from {}",
    " Tools can fix {} {}: punchlist fix --from {}",
    " Each in full: punchlist show {}",
    "`punchlist run` makes the fixes anew",
    "punchlist init",
    "punchlist review",
    "punchlist status {} -v",
    "`punchlist apply {}` merges {} into your branch",
)
def of_the_loop(ground):
    punchlist = ground.fresh()
    for name in (
        "doctor",
        "allow",
        "doctor",
        "allow",
    ):  # with the file that it writes, the second time
        yield ask(punchlist, name)
    ground.begin()
    yield ask(punchlist, "run", "--all")
    yield ask(punchlist, "review", "--all")
    yield ask(punchlist, "review", "--all", "--set", "analyzers.select=S")
    ground.begin()
    yield ask(punchlist, "run", "--all", "--force", "--json")
    ground.begin()
    ground.repo.git("rm", "--quiet", "cart.py")
    ground.repo.commit({"app.js": "f()"})
    yield ask(punchlist, "run", "--all")
    ground.begin()
    assert punchlist("run", "--all", "--force").returncode == 1
    assert punchlist("discard").returncode == 0
    for line in ("reflog expire --expire=now --all", "gc --quiet --prune=now"):
        ground.repo.git(*line.split())
    yield ask(punchlist, "apply")


@situation(
    "  hint: --yes, or `punchlist allow`",
    "not allowed yet: --yes, or `punchlist allow`",
    "the checks found here were not allowed to run ({}); `punchlist allow` or --yes lets them",
    "it is not allowed yet (`punchlist allow`)",
    "punchlist allow",
    "{} {}; `punchlist allow` or --yes",
    soak=True,
)
def of_what_is_not_allowed(ground):
    ground.repo.commit(
        {"test_cart.py": TEST, ".punchlist.toml": 'commit-subject = "Fix {title}"\n'}
    )
    for line in ("run --all -v", "run --all --dry-run", "doctor"):
        yield ask(ground.fresh(), *line.split())
    ground.repo.commit({"mypy.ini": "[mypy]\nplugins = ./plug.py\n", "plug.py": ""})
    punchlist = ground.fresh()
    punchlist.analyzers = "ruff,mypy"
    yield ask(punchlist, "run", "--all", "-v")


@situation("the checks found here are not allowed to run: `punchlist allow`, or --yes", soak=True)
def of_proofs_without_checks(ground):
    ground.repo.commit({"test_cart.py": TEST})
    punchlist = ground.fresh()
    assert punchlist("run", "--all", "--yes").returncode == 1
    branch = ground.repo.git(
        "branch", "--list", "--sort=-committerdate", "--format=%(refname:short)", "punchlist/*"
    )
    yield ask(punchlist, "prove", f"main..{branch.split()[0]}")


@situation(
    "`punchlist baseline --stale`, and --prune",
    "{} not in it: `punchlist review --all`",
    "punchlist show {} --left-out",
    "{}: punchlist show {} -n 0",
    soak=True,
)
def of_many_findings_and_few(ground):
    punchlist, repo = ground.fresh(), ground.repo
    assert punchlist("baseline").returncode == 0
    repo.commit({"cart.py": CART.replace("import os\n", "")})
    repo.commit({"many.py": "".join(f"import m{number}\n" for number in range(60))})
    yield ask(punchlist, "review", "--all")
    yield ask(punchlist, "review", "--all", "-v")
    yield ask(punchlist, "show")
    yield ask(punchlist, "baseline", "--prune")
    repo.commit({"many.py": ""})
    yield ask(punchlist, "run", "--all", "-v")


@situation("nothing was changed; `punchlist run` looks at them as they are now")
def of_files_that_were_edited_since(ground):
    punchlist = ground.fresh()
    ground.repo.write("cart.py", CART + "import re\n")
    assert punchlist("run").returncode == 1
    ground.repo.write("cart.py", CART + "import re, sys\n")
    yield ask(punchlist, "apply")


@situation("punchlist setup --yes", "punchlist setup", soak=True)
def of_packages_that_are_not_there(ground):
    ground.repo.commit(fresh_clone.FILES)
    settings = fresh_clone.write_registry(ground.folder / "registry")
    programs = fresh_clone.write_installer(ground.folder / "tools/bin")
    punchlist = ground.fresh(**settings, PATH=f"{programs}:{os.environ['PATH']}")
    yield ask(punchlist, "run", "--all", "--yes", "-v")
    yield ask(punchlist, "status", "-v")
    yield ask(punchlist, "setup")
    yield ask(punchlist, "doctor")


@situation(
    "Commit it, then `punchlist allow` lets it be used: settings count as they are on the base"
    " commit."
)
def of_new_settings(ground):
    yield ask(ground.fresh(), "init")


@situation("`punchlist audit` says which")
def of_a_state_folder_that_was_changed(ground):
    punchlist = ground.fresh()
    punchlist("review", "--all")
    with closing(sqlite3.connect(punchlist.home / "ledger.sqlite3")) as ledger, ledger:
        ledger.execute("update entries set line = '[]'")
    yield ask(punchlist, "status")


@situation(
    "as: punchlist review --check, {} against {}",
    "leave out --follow and --events; `punchlist show --follow` shows it later",
    "punchlist init --agent=ANOTHER_FOLDER",
)
def of_other_commands(ground):
    punchlist, repo = ground.fresh(), ground.repo
    first, head = repo.git("rev-list", "--reverse", "HEAD").split()
    event = ground.write(
        "event.json", f'{{"before": "{first}", "after": "{head}", "ref": "refs/heads/x"}}'
    )
    job = {
        "GITHUB_EVENT_NAME": "push",
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_SERVER_URL": "https://a",
    }
    yield ask(punchlist, "ci", "--dry-run", GITHUB_ACTIONS="true", GITHUB_EVENT_PATH=event, **job)
    yield ask(punchlist, "run", "--queue", "--follow")
    punchlist("init", "--agent")
    yield ask(punchlist, "init", "--agent")


@situation(
    "run {} is stopped; `punchlist resume {}` goes on",
    "  `punchlist resume {}` goes on",
    "`punchlist resume {}` goes on",
    "punchlist resume {}",
    soak=True,
)
def of_a_run_that_was_stopped(ground):
    slow = '[[analyzers.custom]]\nname = "slow"\ncommand = ["sh", "-c", "sleep 5"]\n[analyzers]\nenabled = ["ruff", "slow"]\n'
    punchlist = ground.fresh(PUNCHLIST_CONFIG=ground.write("slow.toml", slow))
    punchlist.analyzers = ""
    running = punchlist.start("run", "--all", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while (stopped := punchlist("stop")).returncode and time.monotonic() < until:
        time.sleep(0.1)
    told = [part.decode() for part in running.communicate(timeout=60)]
    yield Answer(punchlist, before := punchlist("status"))
    assert "interrupted" in before.stdout
    yield Answer(punchlist, stopped)
    yield Answer(punchlist, Told(running.returncode, *told))


@situation(
    "punchlist store upgrade",
    "run {} is queued (punchlist status {})",
    "It waits in the queue for a worker (punchlist queue).",
    "No worker is at work. `punchlist worker` starts one.",
    "`punchlist queue` shows the queue",
    "punchlist schedule",
    soak=True,
)
def of_a_fleet(ground):
    assert find_programs(), "PostgreSQL is missing: apt-get install postgresql"
    with start_server() as server:
        punchlist = ground.fresh(PUNCHLIST_STORE=server.make_database("hints"))
        yield ask(punchlist, "list")
        queued = ask(punchlist, "run", "--all", "--queue")
        yield ask(punchlist, "resume", "last", "--queue")
        yield queued
        yield ask(punchlist, "status")
        yield ask(punchlist, "schedule", "remove", "nosuch")
        yield ask(punchlist, "queue")


@situation(
    "What you see now is what `punchlist run --all --yes --findings {}` does there.",
    "  punchlist show          every item",
    "  punchlist show last 1   one with its history, its proof and its change",
    "  punchlist audit         the ledger, verified from its first line",
    "  punchlist apply         merge the fixes into the branch",
    "The repository was removed again; `punchlist demo --keep` leaves it for you to look around in.",
    soak=True,
)
def of_the_demo(ground):
    punchlist = ground.fresh(PIP_NO_INDEX="1")
    told = punchlist("demo", "--folder", str(ground.folder / "demo"))
    there = ground.fresh(PIP_NO_INDEX="1")
    there.home, there.env, there.folder = (
        punchlist.home,
        punchlist.env,
        ground.folder / "demo/stockroom",
    )
    yield Answer(there, told)
    gone = punchlist("demo")
    yield Answer(punchlist, Told(gone.returncode, gone.stderr.splitlines()[-1], ""))


@situation("Try them: PUNCHLIST_CONFIG={} punchlist run --all", soak=True)
def of_agents_of_one_s_own(ground):
    punchlist = ground.fresh()
    punchlist.analyzers = ""
    yield ask(punchlist, "init", "--agent")


@situation("`punchlist serve --new-token admin`, then try again; or leave --host out")
def of_a_server_for_others(ground):
    yield ask(ground.fresh(), "serve", "--host", "0.0.0.0")


@situation("punchlist demo", soak=True)
def outside_a_repository(ground):
    punchlist = ground.fresh()
    punchlist.folder = ground.folder
    yield ask(punchlist, "doctor")


PARSED_ONLY = {
    "it is said by another surface; the same command is typed above": (
        *("lsp/", "mcp/", "tui/", "web/", "views/pulls/", "views/review/", "app/pulls/"),
        *("adapters/reports/templates/", "model/ledger/verify_ledger.py"),
    ),
    "it needs a database that fails, or other machines": (
        *("adapters/postgres/", "adapters/objects/", "app/fleet/", "app/stores.py"),
        *("app/drive/budget.py", "cli/commands/fleet.py", "cli/commands/queue.py"),
        *("cli/commands/store.py", "views/tables/fleet.py"),
    ),
    "it describes an option or an exit code, and is no next step": (
        *("cli/exit_codes.toml", "Also the reports of runs", "Also the environments that"),
        *("The items of an earlier run", "What `punchlist export` wrote", "Set a setting for this"),
        *("The run in the terminal view", "Follow and steer it", "Leave the run to the workers"),
        *("# `python` is the project's own", "made by `punchlist setup`", "`punchlist setup` "),
        *("comes for its tasks by itself", "it is asked in a run only", "as: punchlist pr {}"),
        "# Agents of your own, one for each role",
    ),
    "tests/cli/test_cli_converge.py and tests/journeys/test_asked_rounds.py type it, with agents that ask": (
        "punchlist answer {} {}",
    ),
    "tests/cli/test_cli_stop.py types it": ("name one of them: punchlist stop {}",),
    "tests/cli/test_cli_terminal.py answers there": ("The tests lack a package: {}",),
    "a disk, a repository or a process would have to fail at one moment": (
        *("free some disk space", "free some space", "write the evidence to a file instead"),
        *("`punchlist clean` tries again", "start a new run: punchlist run", "\nstopped at once"),
        *(
            "put the file back as it was",
            "what was recorded since is lost",
            "the details are in {}",
        ),
        *("`punchlist resume` goes on, if a run had begun", "start a new one with `punchlist run`"),
        *(
            "run {} ended meanwhile",
            "  and {} more: punchlist list",
            "`punchlist list` shows the runs",
        ),
        *("Your repository does not have all of {}", "`punchlist doctor --security` shows what"),
    ),
    "the same command is typed above, of the same run": (
        *("checks were not run: they are not allowed", "the checks were not allowed to run;"),
        *("it may run what the repository names", "name what is missing in the project's files"),
    ),
}
"""Why a next step is not typed here: by reason, how texts begin, or where they stand."""


def test_each_text_that_names_a_command_is_brought_about_or_has_a_reason():
    typed = {text for texts, *_ in SITUATIONS.values() for text in texts}
    begins = tuple(each for listed in PARSED_ONLY.values() for each in listed)
    told = [each for each in (*collect(), *collect_files()) if not is_no_hint(each)]
    assert [
        each
        for each in told
        if each.text not in typed
        and not each.text.startswith(begins)
        and not each.place.startswith(begins)
    ] == []
    texts = {each.text for each in told}
    assert typed - texts == set(), "these are not in the source any more"
    unused = [
        begin
        for begin in begins
        if not any(each.text.startswith(begin) or each.place.startswith(begin) for each in told)
    ]
    assert unused == []


EXAMPLES = {"RUN": "last", "ITEM": "1", "REV": "HEAD~1", "FILE": "review.json"}
ELSEWHERE = (
    "punchlist pr ",  # needs a forge: tests/cli/test_cli_pr.py
    "punchlist show --follow",  # needs a terminal: tests/tui
    "punchlist fix --from RUN --item ITEM",  # needs an agent: tests/journeys/test_one_item.py
)
"""They do not work by themselves here."""
FINE = {Exit.FINE, Exit.LEFT, Exit.INCOMPLETE, Exit.WAITING, Exit.UNAPPLIED}
LASTING = ("worker",)
"""These go on until they are stopped."""
MAY = {
    "doctor": {Exit.SETUP},  # it says itself what is missing
    "audit": {Exit.LEDGER},
    "setup": {Exit.USAGE},  # on a terminal it asks, else it says `punchlist setup --yes`
}


@pytest.fixture(scope="module")
def ground(shared_repo, tmp_path_factory):
    made = Ground(shared_repo, tmp_path_factory.mktemp("ground"))
    shared_repo.git("config", "core.excludesFile", made.write("ignored", "review.json\n"))
    return made


def list_situations():
    for name, (*_, soak) in SITUATIONS.items():
        yield from needs.rarely(name) if soak else [name]


@pytest.mark.parametrize("name", [*list_situations()])
def test_what_a_text_tells_to_type_can_be_typed_there(ground, name):
    texts, bring_about, _ = SITUATIONS[name]
    ground.begin()
    printed, refused, typed = [], [], set()
    for answer in bring_about(ground):
        text = answer.told.stdout + answer.told.stderr
        printed.append(text)
        for hint in find_hints(text):
            where = (hint, answer.punchlist.home, *sorted(answer.punchlist.env.items()))
            if where not in typed:
                typed.add(where)
                refused.append(type_hint(answer.punchlist, hint))
    assert "".join(refused) == ""
    unsaid = [
        text for text in texts if not any(HintText("", text).matches(each) for each in printed)
    ]
    assert unsaid == [], "\n---\n".join(printed)


def type_hint(punchlist, hint):
    """Type a command line; return what is wrong about the answer."""
    env, arguments = split(hint)
    if hint.startswith(ELSEWHERE):
        return ""
    if arguments[0] in LASTING:
        return start_hint(punchlist, hint)
    typed = punchlist(*(EXAMPLES.get(word, word) for word in arguments), **env)
    said = f"$ {hint}\nexit {typed.returncode}\n{typed.stdout}{typed.stderr}\n"
    fine = FINE | MAY.get(arguments[0], set())
    return "" if typed.returncode in fine else said


def start_hint(punchlist, hint):
    """Start a command that lasts; return what is wrong if it ends by itself."""
    lasts = punchlist.start(*split(hint)[1], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with lasts:
        try:
            said, _ = lasts.communicate(timeout=4)
        except subprocess.TimeoutExpired:
            lasts.kill()
            return ""
    return f"$ {hint}\nexit {lasts.returncode}\n{said.decode()}"
