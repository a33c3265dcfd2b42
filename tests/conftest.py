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

import machine
import needs
import warm
from folders import use_memory
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
    """A home of our own and no git configuration; `machine.leave_machine` has done the rest."""
    home = tmp_path_factory.mktemp("home")
    _isolate(monkeypatch, home)
    monkeypatch.chdir(
        home
    )  # not the checkout of these tests, whose programs would be a repository's
    return home


@pytest.fixture(scope="module")
def shared_repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repo]:
    """An empty repository for all tests of a module, made in the same environment as theirs."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        _isolate(patch, folder)
        yield Repo(folder / "repo")


def _isolate(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
    }
    for name, value in {
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": f"{home}.gitconfig",  # does not exist; /dev/null could be written over
        "GIT_CONFIG_NOSYSTEM": "1",
        # Fixes of style are safe and many, which tests of fixing need; users have to ask for them.
        ALL_RULES: "all",
        **identity,
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def on_path(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put programs of the machine on PATH, for this test; if one is missing there, skip it or, in
    CI, fail it. Their folder is on the disk: sandboxes hide those in memory.
    """

    def put(*names: str) -> Path:
        folder = Path(tempfile.mkdtemp(dir=pytestconfig.stash[PLACE])) / "bin"
        folder.parent.chmod(0o755)
        folder.mkdir()
        for name in names:
            if not machine.link_program(name, folder):
                needs.miss(f"NOT TESTED: {name} is not installed")
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return folder

    return put


@pytest.fixture
def system_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """PATH as in a sandbox that nothing is shown in but the system's folders."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


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
    "fleet/test_workers.py::test_a_worker_that_breaks_off_every_run_pauses_and_the_runs_end_elsewhere",
    "tui/test_tui_steer.py::test_an_escalation_is_decided_in_place",
    "lsp/test_lsp_look.py::test_what_is_no_reviewed_file_of_a_repository_shows_nothing_and_ends_nothing",
    "adapters/objects/test_objects_cli.py::test_documents_and_reports_are_in_the_store_for_every_machine_until_they_are_old",
    "adapters/trackers/test_github_faults.py::test_requests_that_are_done_after_they_were_given_up_end_as_one_open_issue_with_the_next_filing",
    "hostile/test_hostile_configuration.py::test_ten_thousand_excludes_cost_a_moment_and_only_what_they_name",
    "hostile/test_hostile_checks.py::test_a_check_that_prints_a_hundred_megabytes_costs_neither_memory_nor_ledger",
    "adapters/agents/test_agent_network_user.py",
    "web/test_page_items.py::test_two_rounds_say_what_was_fixed_in_between",
    "cli/test_cli_gate.py::test_fixes_that_the_code_lacks_fail_the_check_only_if_they_are_severe_enough",
    "cli/test_cli_terminal.py::test_ctrl_c_stops_cleanly_and_resume_goes_on_without_asking_ruff_again",
    "journeys/test_order.py[breaks only in company",
    "journeys/test_prove.py::test_an_altered_diff_whose_evidence_was_made_to_fit_is_judged_by_what_it_does",
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
    "fleet/test_operation.py",
    "fleet/test_schedules.py::test_what_cannot_be_scheduled_is_told",
    "fleet/test_spread_trouble.py",
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
    "adapters/agents/test_agent_matrix.py[codex-verified-contradicting",
    "adapters/objects/test_object_artifacts.py::test_what_the_ledger_pinned_is_read_without_the_store",
    "cli/test_cli_pr.py::test_a_process_killed_between_a_write_and_its_answer_leaves_nothing_twice[github-True-2",
    "fleet/test_workers.py::test_a_drained_worker_gives_back_what_does_not_end_and_another_goes_on",
    "hostile/test_hostile_company.py::test_different_scopes_at_once_both_finish_and_neither_disturbs_the_other",
    "hostile/test_hostile_company.py::test_what_the_user_does_meanwhile_neither_disturbs_the_run_nor_is_disturbed[commit_more",
    "journeys/test_dangling.py::test_a_run_fixes_what_can_be_fixed",
    "journeys/test_accountable.py::test_what_a_reviewer_says_is_kept_whole_with_who_said_it",
    "journeys/test_converge.py::test_what_a_later_reviewer_calls_critical_is_no_longer_minor",
    "journeys/test_fail_closed.py::test_what_is_contested_is_judged_by_its_reason_not_by_the_patch_beside_it",
    "journeys/test_fail_closed.py::test_what_was_not_claimed_is_not_held_to_have_been_tried",
    "journeys/test_judge.py::test_what_a_branch_did_to_its_tests_is_not_held_against_a_fix_in_their_file_and_what_the_fix_does_is",
    "journeys/test_order.py[passes only in company",
    "journeys/test_proven.py::test_a_run_that_was_stopped_goes_on_where_it_was",
    "journeys/test_proven_agents.py::test_a_fixed_item_shows_every_proof_it_has",
    "journeys/test_proven_agents.py::test_a_vacuous_test_is_reported_and_does_not_count",
    "journeys/test_proven_agents.py::test_canaries_say_how_often_the_challenger_is_wrong",
    "journeys/test_proven_agents.py::test_two_batches_in_one_file_are_done_one_on_top_of_the_other",
    "journeys/test_proven_agents.py::test_what_a_fixer_put_off_is_no_burden_for_what_it_fixed_beside_it",
    "journeys/test_real_reasons.py::test_an_agent_that_edits_tests_for_each_finding_is_told_so_each_time",
    "steps/judging/test_replay_lies.py::test_a_yes_or_no_made_for_one_number_is_refused",
    "steps/judging/test_replay_lies.py::test_answers_that_hang_on_a_word_of_the_tests_are_refused",
    "steps/judging/test_replay_lies.py::test_code_that_asked_how_it_is_run_before_may_go_on",
    "steps/judging/test_replay_lies.py[letters",
    "steps/judging/test_replay_lies.py[only a caller",
    "steps/judging/test_replay_lies.py[frames",
    "tui/test_tui_steer.py::test_a_run_of_another_process_is_followed_live_and_stopped_from_here",
    "web/test_two_servers.py::test_a_token_counts_at_both_until_it_is_dropped",
    "adapters/agents/test_whole_run_trouble.py::test_nobody_who_is_refused_reviews_fixes_or_approves_anything",
    "hostile/test_hostile_plugins.py::test_what_was_allowed_is_the_exact_text_of_the_configuration_and_the_plug_in",
    "hostile/test_hostile_filters.py[lfs",
    "hostile/test_hostile_filters.py[a.b",
    "hostile/test_hostile_disk.py[4096",
    "hostile/test_hostile_disk.py[60000",
    "hostile/test_hostile_checks.py[-1",
    "cli/test_cli_door.py[arguments1",
    "cli/test_cli_terminal.py[0.05",
    "journeys/test_absent_agent.py::test_an_agent_that_crashed_is_asked_again_and_its_crash_counts_for_nothing",
    "journeys/test_accountable.py::test_answers_in_any_case_unknown_ids_and_contradictions",
    "journeys/test_accountable.py::test_only_what_is_at_or_above_the_floor_goes_to_the_fixer_and_the_rest_is_filed",
    "journeys/test_asked_rounds.py::test_a_score_below_the_threshold_that_was_asked_for_is_no_approval",
    "journeys/test_casting.py::test_one_agent_in_two_roles_has_two_homes_if_one_of_them_judges",
    "journeys/test_challenged.py::test_a_broken_plan_is_shown_again_and_nothing_is_lost",
    "journeys/test_commits_by.py::test_what_was_applied_in_the_middle_stays_and_a_cut_between_branch_and_ledger_is_healed",
    "journeys/test_converge.py::test_a_reviewer_who_failed_has_found_nothing_clean_and_is_asked_again",
    "journeys/test_converge.py::test_b_accepts_what_is_open_in_the_name_of_who_said_so",
    "journeys/test_converge.py::test_c_grants_one_more_round_up_to_five_in_all",
    "journeys/test_converge.py::test_each_round_is_one_commit_where_that_is_asked_for",
    "journeys/test_converge.py::test_one_more_round_tries_what_was_called_blocked_once_more",
    "journeys/test_converge.py::test_under_the_demanded_coverage_no_round_is_clean_until_tests_are_written",
    "journeys/test_fail_closed.py::test_an_agent_that_undoes_what_another_did_does_not_take_its_item_along",
    "journeys/test_fail_closed.py::test_where_the_challenge_itself_fails_nothing_is_approved",
    "journeys/test_judge.py::test_opening_one_test_file_for_a_fix_leaves_the_rest_of_the_judge_the_bases",
    "journeys/test_killed.py::test_killed_at_random_moments_the_run_resumes_to_the_same_end",
    "journeys/test_killed_and_cleaned.py::test_an_answer_whose_changes_are_gone_is_asked_for_again",
    "journeys/test_mixed_batch.py::test_what_cannot_be_told_apart_is_asked_for_again_alone",
    "journeys/test_notes_beside_proof.py::test_notes_stand_beside_the_proof_wherever_the_proof_is_shown",
    "journeys/test_other_machine.py::test_what_was_paid_for_on_one_machine_is_used_on_another[work/",
    "journeys/test_pinned_start.py::test_a_run_that_pinned_nothing_goes_on_with_what_the_machine_has",
    "journeys/test_prove.py::test_evidence_makes_no_command_run_that_is_not_from_here",
    "journeys/test_proven_agents.py::test_tools_fix_what_they_can_and_agents_the_rest",
    "journeys/test_proven_agents.py::test_two_batches_that_change_the_same_line_are_judged_as_one",
    "journeys/test_replayed.py::test_the_right_fix_lands_and_says_that_its_calls_were_made_again",
    "journeys/test_stage_starts.py::test_the_library_and_the_stream_tell_the_same_starts_before_the_results",
    "steps/judging/test_replay_lies.py::test_a_patch_that_tampers_with_the_recorder_gains_nothing",
    "steps/judging/test_replay_lies.py::test_words_that_are_in_every_other_finding_excuse_no_old_answers",
    "steps/judging/test_replay_lies.py[number",
    "adapters/agents/test_agent_real.py::test_an_agent_that_hangs_with_a_tool_running_is_ended_whole[codex",
    "adapters/objects/test_object_artifacts.py::test_a_store_that_is_away_is_waited_for_and_nothing_is_lost",
    "bench/test_obedient.py::test_no_trick_of_a_fixer_passes_the_judge_or_leaves_its_fence",
    "cli/test_base_looks.py::test_reviews_with_what_is_kept_say_what_reviews_without_it_say",
    "cli/test_cli_init_agents.py::test_they_clarify_and_plan_in_the_workflow_that_has_it",
    "cli/test_cli_logins.py[n-False",
    "cli/test_cli_pr.py::test_after_pushes_rebases_and_force_pushes_nothing_is_twice",
    "cli/test_cli_record.py::test_tampers_are_found_by_the_audit_and_by_the_verifier_and_rewrites_by_a_commit",
    "fleet/test_workers.py::test_a_newer_push_supersedes_the_queued_run_of_its_branch",
    "fleet/test_workers.py::test_a_run_that_no_worker_can_fetch_is_stuck_after_ten_tries_with_the_reason",
    "hostile/test_hostile_configuration.py::test_a_program_that_the_repository_carries_is_not_taken_for_an_analyzer",
    "journeys/test_other_machine.py::test_evidence_that_was_changed_is_refused",
    "journeys/test_proven.py::test_a_second_run_files_nothing_twice",
    "journeys/test_proven.py::test_analyzers_tell_what_a_fix_brings_about_and_no_more_is_left_than_the_tool_alone_leaves",
    "lsp/test_lsp_actions.py::test_a_fix_that_was_only_claimed_is_not_offered",
    "lsp/test_lsp_actions.py::test_without_a_client_that_checks_versions_no_fix_is_offered",
    "mcp/test_mcp_fixer.py::test_a_client_that_goes_away_in_the_middle_leaves_a_run_that_can_be_resumed",
    "tui/test_tui_acts.py::test_a_branch_is_discarded_from_the_window_after_a_question",
    "web/test_two_servers.py::test_a_database_that_goes_away_is_told_and_streams_go_on_without_a_gap",
    "adapters/process/test_process.py::test_a_gigabyte_of_output_costs_neither_memory_nor_the_run",
    "adapters/postgres/test_postgres_state.py::test_without_patience_an_absent_database_is_told_at_once_and_with_it_is_waited_for",
    "adapters/trackers/test_github_killed.py::test_killed_at_random_moments_twenty_items_are_twenty_issues",
    "bench/test_obedient.py::test_no_deed_of_an_agent_or_a_test_has_an_effect_outside_of_the_sandbox",
    "cli/test_cli_init_agents.py::test_they_review_reproduce_fix_and_judge_in_the_default_workflow",
    "cli/test_cli_pr.py::test_without_push_fixes_are_suggested_and_nothing_is_resolved",
    "docs/test_docs.py::test_commands_print_what_the_pages_show[monorepos",
    "fleet/test_schedules.py::test_a_worker_queues_and_drives_the_run_of_a_schedule_that_is_due",
    "fleet/test_workers.py::test_a_run_that_asks_waits_and_workers_go_on_with_it_after_the_answer",
    "hostile/test_hostile_plugins.py[python_executable = ./evil.sh",
    "hostile/test_hostile_plugins.py[mypy.ini",
    "hostile/test_hostile_plugins.py::test_a_plug_in_that_is_a_module_of_the_repository_comes_from_the_base",
    "journeys/test_proven.py::test_each_batch_is_one_commit_with_trailers_and_only_its_own_paths",
    "journeys/test_red_tests_decide.py::test_a_fix_without_a_line_must_turn_all_red_tests_of_the_file_green",
    "journeys/test_refuted.py",
    "journeys/test_replayed.py::test_a_fix_without_the_error_that_the_finding_asks_for_does_not_land",
    "lsp/test_lsp_actions.py::test_a_dismissal_has_a_reason_and_is_recorded_under_the_users_name",
    "lsp/test_lsp_actions.py::test_open_items_of_the_last_run_are_shown_where_their_lines_are_now",
    "lsp/test_lsp_look.py::test_columns_are_utf16_units_also_after_an_emoji_and_in_a_file_with_a_mark",
    "mcp/test_mcp_fixer.py::test_a_run_that_another_client_drives_can_be_stopped_and_taken_over",
    "mcp/test_mcp_fixer.py::test_an_answer_that_came_while_nobody_drove_the_run_is_heard_when_it_goes_on",
    "steps/judging/test_ablation.py::test_a_private_test_stays_private",
    "steps/judging/test_replay_honest.py",
    "tui/test_tui_acts.py::test_all_items_shown_are_dismissed_for_one_reason_and_no_others",
    "tui/test_tui_terminal.py::test_a_signal_stops_the_run_between_two_events_and_gives_the_terminal_back[1",
    "tui/test_tui_terminal.py::test_a_signal_stops_the_run_between_two_events_and_gives_the_terminal_back[2",
    "tui/test_tui_terminal.py::test_no_byte_of_a_hostile_title_reaches_the_terminal",
    "tui/test_tui_text.py::test_a_hostile_title_is_text_on_the_board_and_on_its_page",
    "web/test_api_fix.py::test_a_session_without_a_plan_goes_through_and_is_done_once_under_its_key",
    "web/test_api_issues.py::test_what_scores_under_the_threshold_is_in_progress_and_is_fixed_again",
    "web/test_api_plan.py::test_files_that_were_broken_by_hand_are_named_and_can_be_put_right",
    "web/test_api_stream.py::test_five_hundred_readers_lose_and_repeat_nothing_while_the_server_is_killed",
)
"""The same stories with other agents, on other surfaces or in larger numbers than `make test` tells them: minutes, for `make soak`."""


LONG = (
    "fleet/",
    "release/",
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
    "bench/test_beside_the_sandbox.py",
    "bench/test_obedient.py",
    "library/test_fix_engine.py",
    "mcp/",
    "lsp/",
    "tui/",
    "hostile/",
    "adapters/postgres/",
    "adapters/sandbox/",
    "journeys/",
    "docs/",
    "steps/judging/",
    "web/",
    "cli/",
)
"""What takes longest comes first, so that no worker has a long file left when the others are done."""


WARM = pytest.StashKey[warm.Parent]()
FOLDERS = pytest.StashKey[Path | None]()
PLACE = pytest.StashKey[Path]()
"""The folder of the programs on PATH, and of the socket of the warm process."""


def pytest_configure(config: pytest.Config) -> None:
    """Leave the machine's settings, choose where folders are, and start the process that all test
    processes start servers from.
    """
    config.stash[FOLDERS] = use_memory(config)
    for folder in (config.stash[FOLDERS], Path(tempfile.gettempdir(), "tests")):
        if folder and (found := machine.find_repository(folder)):
            raise pytest.UsageError(f"{found} is a repository: name a folder outside with TMPDIR")
    config.stash[PLACE] = place = Path(tempfile.mkdtemp(prefix="punchlist-session-"))
    place.chmod(0o755)  # some tests run programs as another user
    machine.leave_machine(place)
    where = place / "socket"
    config.stash[WARM] = warm.Parent(where)
    os.environ[warm.VARIABLE] = warm.address = str(where)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if a process is left that was started from the warm one; remove folders in memory."""
    if folder := session.config.stash.get(FOLDERS, None):
        shutil.rmtree(folder, ignore_errors=True)
    if parent := session.config.stash.get(WARM, None):
        left = parent.end()
        shutil.rmtree(session.config.stash[PLACE])
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


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which tests there are, if these are all of `make test`."""
    config = session.config
    if config.args_source is config.ArgsSource.TESTPATHS and not config.option.keyword:
        needs.collected.update(item.nodeid for item in session.items)


FORBIDDEN = {"subprocess.Popen", "os.fork", "os.posix_spawn", "socket.connect", "socket.bind"}
"""Events of Python's audit that no pure test may cause."""
_running_pure: list[str] = []


def _refuse_effects(event: str, _: object) -> None:
    if event in FORBIDDEN and _running_pure:
        raise AssertionError(f"{_running_pure[0]} is marked pure, and does {event}")


sys.addaudithook(_refuse_effects)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    if nextitem is None:  # with the last test go the servers that others used
        _running_pure.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if item.get_closest_marker("pure"):
        _running_pure.append(item.nodeid)
    try:
        return (yield)
    finally:
        _running_pure.clear()
