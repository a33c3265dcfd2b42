"""What tests share: a real git repository, built in a folder of its own, with nothing of the machine's configuration."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import warm
from processes import pytest_addoption, pytest_runtestloop

__all__ = ["pytest_addoption", "pytest_runtestloop"]

ALL_RULES = "PUNCHLIST_ANALYZERS__RULES"
GUARDIAN = "sh -c \ntrap '' HUP INT TERM"


class Repo:
    """A small real repository. Dates count up from a fixed moment, so that commits have the same names on every machine."""

    def __init__(self, root: Path, *, init: bool = True) -> None:
        self.root = root
        self._ticks = 0
        root.mkdir(parents=True, exist_ok=True)
        if init:
            self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, cwd: Path | None = None, stdin: bytes = b"") -> str:
        self._ticks += 1
        date = f"{1_700_000_000 + self._ticks} +0000"
        env = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.root,
            env=env,
            input=stdin,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, f"git {arguments}: {os.fsdecode(done.stderr)}"
        return os.fsdecode(done.stdout).removesuffix("\n")

    def write(self, path: str, content: str | bytes = "", *, mode: int | None = None) -> Path:
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            full.chmod(mode)
        return full

    def commit(self, files: dict[str, str | bytes] | None = None, message: str = "a change") -> str:
        """Writes the files, commits everything, and returns the commit."""
        for path, content in (files or {}).items():
            self.write(path, content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of our own and no git configuration; what the machine has must not decide a test."""
    home = tmp_path_factory.mktemp("home")
    _isolate(monkeypatch, home)
    return home


@pytest.fixture(scope="module")
def shared_repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repo]:
    """An empty repository for all tests of a module, made in the same environment as theirs."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        _isolate(patch, folder)
        yield Repo(folder / "repo")


def _isolate(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    own = ("GIT_", "XDG_", "PUNCHLIST_", "CONDA_", "VIRTUAL_ENV", "UV_PROJECT_")
    for name in [name for name in os.environ if name.startswith(own)]:
        monkeypatch.delenv(name)
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
    }
    for name, value in {
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        # Fixes of style are safe and many, which tests of fixing need; users have to ask for them.
        ALL_RULES: "all",
        **identity,
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session", autouse=True)
def no_child_is_left() -> Iterator[None]:
    """Fail the last test of a process if a child of that process is alive after it."""
    yield
    assert _find_children() == {}


def _find_children() -> dict[int, str]:
    """The command lines of this process's children, and of what was left to it by them; but for the guardian of
    punchlist.adapters.process, which ends with this process.
    """
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            line = (folder / "cmdline").read_text().replace("\0", " ").strip()
            ours = line.startswith(GUARDIAN) or warm.__file__ in line
            if int(parent) == os.getpid() and state != "Z" and not ours:
                found[int(folder.name)] = line
    return found


@pytest.fixture
def make_repo(tmp_path: Path, isolated: Path) -> Callable[..., Repo]:
    """Makes repositories by name, next to each other."""
    return lambda name="repo", **options: Repo(tmp_path / name, **options)


@pytest.fixture
def repo(make_repo: Callable[..., Repo]) -> Repo:
    """An empty repository on the branch main, without a commit."""
    return make_repo()


@pytest.fixture
def cancelled() -> Callable[["asyncio.Task[object]"], Awaitable[float]]:
    """Cancels a task and waits for its end; the seconds that took."""

    async def took(task: "asyncio.Task[object]") -> float:
        before = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - before

    return took


KINDS = {
    "browser/": "browser",
    "docs/test_site.py": "browser",
    "web/": "web",
    "adapters/agents/test_agent_real.py": "agents",
    "adapters/agents/test_aider.py": "agents",
    "adapters/agents/test_copilot_real.py": "agents",
    "adapters/agents/test_gemini_real.py": "agents",
    "adapters/agents/test_opencode_real.py": "agents",
    "adapters/agents/test_whole_run": "agents",
    "adapters/agents/test_agent_matrix.py": "agents",
    "adapters/agents/test_agent_network.py": "agents",
    "mcp/test_mcp_real.py": "agents",
    "conformance/test_landing.py": "process",
    **dict.fromkeys(
        (
            "adapters/documents/",
            "adapters/reports/",
            "adapters/store/test_chain.py",
            "adapters/store/test_first_open.py",
            "adapters/store/test_private_state.py",
            "adapters/store/test_run_rows.py",
            "conformance/",
            "docs/test_conformance_table.py",
            "docs/test_five_workflows.py",
            "docs/test_security_table.py",
            "engine/",
            "model/",
            "roles/",
            "steps/judging/test_examine_text.py",
            "steps/judging/test_verdict.py",
            "steps/test_",
            "test_settings.py",
            "views/",
            "workflow/",
        ),
        "pure",
    ),
    "": "process",
}
"""The kind of the tests below a path, unless they are marked with another; the first that fits."""


SOAK = (
    "adapters/agents/test_copilot_real.py",
    "adapters/agents/test_agent_real.py[qwen",
    "adapters/agents/test_agent_real.py[no",  # without walls
    "adapters/agents/test_acp.py[opencode",
    "adapters/agents/test_acp.py[gemini",
    "adapters/agents/test_gemini_real.py",
    "adapters/agents/test_opencode_real.py",
    "adapters/agents/test_whole_run.py::test_one_agent_fixes_and_another_challenges",
    "adapters/agents/test_whole_run_trouble.py[gemini",
    "adapters/agents/test_whole_run_trouble.py::test_what_passes_by_itself_is_waited_for",
    "adapters/agents/test_whole_run_trouble.py::test_when_an_agent_is_killed_the_next_one_does_its_work",
    "adapters/agents/test_agent_network.py[gemini",
    "adapters/agents/test_agent_network.py[opencode",
    "adapters/agents/test_agent_network.py::test_an_agent_works_by_tls[claude",
    "bench/test_obedient.py::test_no_deed_of_an_agent_or_a_test_has_an_effect_outside_of_the_sandbox[user",
    "bench/test_obedient.py::test_without_punchlist_the_same_agent_does_all_of_it_and_that_is_seen",
    "hostile/test_hostile_plugins.py[any_exprs_report={ran}.d",
    "hostile/test_hostile_plugins.py[cache_dir = {ran}.d",
    "hostile/test_hostile_plugins.py[linecount_report = {ran}.d",
    "hostile/test_hostile_plugins.py[num_workers = 2",
    "hostile/test_hostile_plugins.py[links to files",
    "hostile/test_hostile_plugins.py[link to a folder",
    "hostile/test_hostile_plugins.py[setup.cfg",
    "hostile/test_hostile_plugins.py[.mypy.ini",
    "hostile/test_hostile_plugins.py::test_a_folder_of_the_tree_that_is_on_the_path_has_no_programs[bin",
    "steps/judging/test_replay_lies.py[name == 'al'",
    "bench/test_lies_behaviours.py",
    "bench/test_lies_classes.py::test_what_is_written_parses_and_only_honest_code_is_right",
    "cli/test_cli_run.py::test_the_demo_explains_itself_and_every_finding_has_an_end",
    "cli/test_cli_terminal.py::test_what_the_files_name_and_python_lacks_is_offered_before_the_run_and_once",
    "hostile/test_hostile_company.py::test_many_different_runs_at_once_in_one_home",
    "hostile/test_hostile_files.py::test_one_line_of_many_megabytes_is_bounded_everywhere",
    "tui/test_tui_steer.py::test_a_question_is_answered_in_place_and_the_run_goes_on_by_itself",
    "tui/test_tui_steer.py::test_a_run_whose_process_was_killed_is_taken_over",
    "tui/test_tui_text.py::test_ten_thousand_items_cost_no_more_than_a_screenful",
    "tui/test_tui_watch.py::test_runs_are_listed_and_one_is_chosen",
    "adapters/agents/test_agent_real.py::test_a_session_that_is_gone_is_begun_anew[claude",
    "adapters/agents/test_agent_real.py::test_an_agent_that_crashes_or_is_killed_leaves_nothing_behind[6",
    "adapters/agents/test_agent_real.py::test_an_answer_that_talks_of_errors_is_an_answer[claude",
    "adapters/agents/test_agent_real.py::test_an_error_of_the_model_is_told_apart[401",
    "adapters/agents/test_agent_real.py::test_an_error_of_the_model_is_told_apart[529",
    "adapters/agents/test_agent_real.py::test_without_the_guards_the_same_trap_does_run[claude",
    "adapters/agents/test_whole_run_trouble.py::test_a_challenger_in_trouble_approves_nothing",
    "adapters/git/test_repository.py::test_three_thousand_commits_take_seconds_and_a_large_tree_is_reused_quickly",
    "bench/test_lies_corpus.py",
    "hostile/test_hostile_checks.py[without walls",
    "hostile/test_hostile_company.py::test_what_the_user_does_meanwhile_neither_disturbs_the_run_nor_is_disturbed[collect",
    "hostile/test_hostile_company.py::test_what_the_user_does_meanwhile_neither_disturbs_the_run_nor_is_disturbed[reset",
    "hostile/test_hostile_company.py::test_what_the_user_does_meanwhile_neither_disturbs_the_run_nor_is_disturbed[switch",
    "hostile/test_hostile_documents.py[a brace too many",
    "hostile/test_hostile_documents.py[a stray byte",
    "library/test_fix_engine.py::test_a_failing_test_that_turns_green_is_a_cycle_that_passed",
    "library/test_fix_engine.py::test_one_cycle_may_be_all_there_is",
    "library/test_typed_program.py::test_mypy_accepts_it",
    "journeys/test_challenged.py[all is well, ship it",
    "journeys/test_killed_agents.py",
    "journeys/test_killed_and_cleaned.py[answers/",
    "journeys/test_one_item.py[answer1",
    "journeys/test_one_item.py[answer2",
    "adapters/agents/test_agent_real.py::test_a_session_goes_on_is_forked_and_costs_only_what_is_new[claude",
    "adapters/agents/test_whole_run_trouble.py::test_where_it_does_not_pass_the_next_agent_is_asked",
    "hostile/test_hostile_company.py::test_what_the_user_does_meanwhile_neither_disturbs_the_run_nor_is_disturbed[rebase",
    "adapters/checks/test_check_runner.py::test_code_that_stalls_the_runner_is_trouble[none",
    "adapters/trackers/test_github_faults.py::test_many_sequences_of_faults_leave_one_open_issue_or_one_that_is_told",
    "docs/test_docs.py::test_commands_print_what_the_pages_show[demo",
    "docs/test_docs.py::test_commands_print_what_the_pages_show[which-python",
    "docs/test_newcomer.py",
    "test_processes.py::test_every_outcome_is_shown_with_its_output",
    "adapters/objects/test_objects_cli.py::test_a_store_that_is_away_is_told_and_waited_for",
    "cli/test_old_ledger.py::test_killed_under_the_old_version_it_is_resumed_by_this_one",
    "fleet/test_schedules.py::test_what_cannot_be_scheduled_is_told",
    "fleet/test_workers.py::test_a_drained_worker_takes_no_more_and_lets_its_run_end",
    "fleet/test_workers.py::test_the_second_signal_stops_a_worker_at_once",
    "journeys/test_asked_rounds.py::test_as_many_cycles_as_asked_for_and_the_summary_and_the_ledger_say_so[4",
    "journeys/test_other_machine.py::test_an_answer_of_a_fixer_without_its_edits_is_asked_for_again_elsewhere",
    "journeys/test_prove.py::test_the_commits_of_the_demo_are_proven_with_their_notes",
    "journeys/test_prove.py::test_without_the_users_consent_no_check_is_run",
    "journeys/test_challenged.py::test_a_challenger_that_crashes_approves_nothing",
    "journeys/test_fail_closed.py::test_two_patches_of_which_one_makes_a_file_where_the_other_makes_a_folder_do_not_spoil_the_round",
    "journeys/test_fail_closed.py[opened1-True",
    "journeys/test_proven_agents.py::test_a_challenger_that_changes_files_has_approved_nothing",
    "mcp/test_mcp_fixer.py::test_a_run_in_a_terminal_may_have_an_outside_agent_too",
    "steps/judging/test_replay_lies.py[helper",
    "steps/judging/test_replay_lies.py[as text",
    "steps/judging/test_replay_lies.py[beside",
    "steps/judging/test_replay_lies.py[dead code",
    "steps/judging/test_replay_lies.py[clock",
    "steps/judging/test_replay_lies.py[emptied",
    "steps/judging/test_replay_lies.py[encoded",
    "steps/judging/test_replay_lies.py[environment",
    "steps/judging/test_replay_lies.py[expected",
    "steps/judging/test_replay_lies.py[packed",
    "steps/judging/test_replay_lies.py[replaced",
    *(
        f"steps/judging/test_replay_honest.py[{what}"
        for what in (
            "a copy",
            "a nested function",
            "a property",
            "a register in a class",
            "a setting that was not read before",
            "a variable that was not read before",
            "a warning",
            "an end that was not looked at before",
            "chance",
            "chance where there was none",
            "few inputs that are valid",
            "helper",
            "new file",
            "one rare input",
            "tested helper",
            "the current folder",
            "what is printed",
            "words that were missing in a table",
        )
    ),
    "tui/test_tui_terminal.py::test_a_signal_stops_the_run_between_two_events_and_gives_the_terminal_back[1",
    "tui/test_tui_terminal.py::test_a_signal_stops_the_run_between_two_events_and_gives_the_terminal_back[2",
)
"""The same stories with other agents, on other surfaces or in larger numbers than `make test` tells them: minutes, for `make soak`."""


LONG = (
    "fleet/",
    "cli/test_cli_pr.py",
    "web/test_two_servers.py",
    "adapters/agents/test_opencode_real.py",
    "adapters/agents/test_whole_run_trouble.py",
    "journeys/test_killed_agents.py",
    "journeys/test_killed_and_cleaned.py[answers/",
    "adapters/agents/test_gemini_real.py",
    "browser/",
    "adapters/agents/test_whole_run.py",
    "adapters/agents/test_agent_real.py",
    "adapters/agents/test_agent_matrix.py",
    "journeys/test_killed.py",
    "bench/test_obedient.py",
    "library/test_fix_engine_covered.py",
    "mcp/",
    "lsp/",
    "tui/",
    "hostile/",
    "journeys/",
    "docs/test_docs.py",
    "steps/judging/",
    "web/",
    "cli/",
)
"""What takes longest comes first, so that no worker has a long file left when the others are done."""


WARM = pytest.StashKey[warm.Parent]()


def pytest_configure(config: pytest.Config) -> None:
    """Start the process that all test processes start servers from."""
    where = Path(tempfile.mkdtemp(prefix="punchlist-warm-")) / "socket"
    config.stash[WARM] = warm.Parent(where)
    os.environ[warm.VARIABLE] = warm.address = str(where)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if a process is left that was started from the warm one."""
    if parent := session.config.stash.get(WARM, None):
        left = parent.end()
        shutil.rmtree(Path(warm.address).parent)
        if left:
            sys.stderr.write(f"\nleft behind by tests: {left}\n")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(tryfirst=True)  # before a selection by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    kinds = {*KINDS.values(), "soak"}

    def find_rank(item: pytest.Item) -> int:
        name = item.path.relative_to(here).as_posix()
        return next((n for n, start in enumerate(LONG) if name.startswith(start)), len(LONG))

    for item in items:
        name = item.path.relative_to(here).as_posix()
        test, _, parameters = item.name.partition("[")
        whole = f"{name}::{test}"
        parts = {
            f"{start}[{part}"
            for start in (name, whole)
            for part in (parameters[:-1], *parameters[:-1].split("-"))
        }
        if {name, whole, *parts} & set(SOAK):
            item.add_marker(pytest.mark.soak)
        elif not kinds & {mark.name for mark in item.iter_markers()}:
            item.add_marker(next(kind for start, kind in KINDS.items() if name.startswith(start)))
    items.sort(key=find_rank)


FORBIDDEN = {"subprocess.Popen", "os.fork", "os.posix_spawn", "socket.connect", "socket.bind"}
"""Events of Python's audit that no pure test may cause."""
_running_pure: list[str] = []


def _refuse_effects(event: str, _: object) -> None:
    if event in FORBIDDEN and _running_pure:
        raise AssertionError(f"{_running_pure[0]} is marked pure, and does {event}")


sys.addaudithook(_refuse_effects)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if item.get_closest_marker("pure"):
        _running_pure.append(item.nodeid)
    try:
        return (yield)
    finally:
        _running_pure.clear()
