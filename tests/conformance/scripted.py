"""A world in memory behind the real ports: the engine, the steps, the workflow language and the ledger are the real ones.

Files are text; the reviewer `Words` reports every word it was told to mind, with a fix where it knows a better one.
"""

import asyncio
import itertools
import re
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from made import made_run
from punchlist.adapters.analyzers.registry import suppressions_of
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.fixers import EditFixer
from punchlist.adapters.reports import REPORTS
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.adapters.trackers.files import FilesTracker
from punchlist.app.after.audit import Audit, audit_lines
from punchlist.engine import Engine, Limits
from punchlist.model.checks.changed_lines import ExecutedLines
from punchlist.model.checks.check import Check, CheckKind, CheckResult, CoveredRun, TestOutcome
from punchlist.model.dedup.identity import Source
from punchlist.model.finding.finding import Finding, Fix, Safety, Splice, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold, fold_entries
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.model.patch.patch import combine_patches
from punchlist.ports.analyzer import Analysis
from punchlist.ports.repository import Heard
from punchlist.ports.world import World
from punchlist.settings import Settings
from punchlist.workflow.loader import load_builtin, parse_workflow

SUPPRESSIONS = suppressions_of(AnalyzerSettings())

CHECK = Check(name="tests", command=("tests",), kind=CheckKind.UNITTEST)
MINOR, MAJOR, CRITICAL = Severity.MINOR, Severity.MAJOR, Severity.CRITICAL


class MemoryTree:
    resumed = False

    def __init__(self, commit: str, texts: dict[str, str]) -> None:
        self.root = Path("/nowhere")
        self.commit = commit
        self.texts = texts

    def text(self, path: str) -> str | None:
        return self.texts.get(path)

    def files(self) -> list[str]:
        return sorted(self.texts)


class MemoryGit:
    """Trees and Repository at once. `refusal` is what the hook says."""

    def __init__(self, files: dict[str, str]) -> None:
        self.commits = {"base": dict(files)}
        self.actions: dict[str, tuple[str, ...]] = {}
        self.messages: list[str] = []
        self.refusal = ""

    @asynccontextmanager
    async def open_tree(self, commit, patches=(), **_):
        yield MemoryTree(commit, self._patched(commit, list(patches)))

    def _patched(self, commit, patches):
        texts = self.commits[commit]
        return {**texts, **combine_patches(patches, texts)}

    async def commit_chain(self, branch, parent, commits, action):
        if action not in self.actions:
            shas = tuple(f"c{len(self.commits) + n}" for n in range(len(commits)))
            for n, sha in enumerate(shas):
                self.commits[sha] = self._patched(
                    parent, [draft.patch for draft in commits[: n + 1]]
                )
            self.messages += [draft.message for draft in commits]
            self.actions[action] = shas
        return self.actions[action]

    async def text(self, commit, path):
        return self.commits[commit].get(path)

    async def publish(self, branch, *, tip="", replaces=""):
        pass

    async def tree_id(self, commit):
        return str(sorted(self.commits[commit].items()))

    async def find_commits(self, branch, parent, action):
        return self.actions.get(action, ())

    async def run_hook(self, name, commit, patches, *, pristine):
        return Heard(refused=self.refusal)


class Words:
    """Minds words: `words` maps each to its severity and what should stand there (None: nobody knows)."""

    confined = True

    def __init__(self, name="words", safety=Safety.SAFE, **words) -> None:
        self.name = name
        self.words = words
        self.safety = safety
        self.broken = ""
        self.looks = 0

    async def analyze(self, tree, paths):
        self.looks += 1
        found = [
            finding
            for path in tree.files()
            if paths is None or path in paths
            for finding in self._in(tree, path)
        ]
        return Analysis(findings=tuple(found), looked_at=len(tree.files()), failed=self.broken)

    def _in(self, tree, path):
        text = tree.text(path)
        for match in re.finditer(r"\w+", text):
            if match[0] in self.words:
                severity, better = self.words[match[0]]
                spot = Spot(path, text.count("\n", 0, match.start()) + 1)
                fix = (
                    Fix((Splice(path, *match.span(), better),), self.safety)
                    if better is not None
                    else None
                )
                title = f"`{match[0]}` is not for here"
                yield Finding(
                    id="", source=self.name, rule=match[0], title=title, spot=spot, severity=severity, fix=fix,
                    context=Source(path, text).context_at(spot, title),
                )  # fmt: skip


class Said:
    """A document: it says what it was given, once."""

    confined = True

    def __init__(self, *findings: Finding, failed: str = "") -> None:
        self.name = "document"
        self.said = Analysis(findings=findings, looked_at=1, failed=failed)

    async def analyze(self, tree, paths):
        return self.said


class Judge:
    """A check: each test is a function of the tree; `flaky` ones fail the first time they are asked with a fix in."""

    def __init__(self, **tests) -> None:
        self.tests = tests or {"always": bool}
        self.runs: list[str] = []
        self.trouble = ""
        self.flaky: set[str] = set()
        self.blind = ""
        self.stands_on = "firm"
        self.lines = ExecutedLines(unknown="it was not asked")

    async def run(self, check, tree, *, only=()):
        self.runs.append(check.name)
        outcomes = {}
        for name, passes in self.tests.items():
            good = passes(tree) and not (name in self.flaky and len(self.runs) > 1)
            outcomes[name] = TestOutcome.PASSED if good else TestOutcome.FAILED
        if len(self.runs) > 1:
            self.flaky = set()
        code = 0 if TestOutcome.FAILED not in outcomes.values() else 1
        return CheckResult(
            check=check.name,
            exit_code=code,
            seconds=0,
            tests=outcomes,
            trouble=self.trouble,
            output="said the check",
        )

    async def run_sentinel(self, check, tree, kinds):
        return self.blind

    async def run_covered(self, check, tree, *, sources=()):
        return CoveredRun(self.lines(tree) if callable(self.lines) else self.lines)

    async def hash_environment(self, check):
        return self.stands_on


class Watch:
    """Keeps what went by, and may do something when it does."""

    def __init__(self, on_told=None) -> None:
        self.began_keys: list[str] = []
        self.on_told = on_told

    def handle_start(self, place, action):
        self.began_keys.append(action.key)

    def handle_output(self, label, piece):
        pass

    def handle_event(self, entry, run):
        if self.on_told:
            self.on_told(entry, run)


class Bench:
    """One repository in memory, and the runs on it."""

    coverage = 0.0

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder = folder
        self.git = MemoryGit(files)
        self.store = SqliteStore.open(folder / "state")
        self.reviewers: dict = {}
        self.documents: dict = {}
        self.judge = Judge()
        self.fixer = EditFixer(SUPPRESSIONS)
        self.checks = (CHECK,)
        self.allowed = True
        self.tracker = FilesTracker(folder / "issues")
        self.limits = Limits()
        self.protected = Settings().protected
        self.change = Change(kind=ScopeKind.ALL, base="base", head="base")
        self.tick = itertools.count().__next__
        self.ids = itertools.count(1)

    def started(self, workflow: str, owed=()) -> ev.Started:
        return ev.Started(
            repository="memory", change=self.change, workflow_name="mine", workflow=workflow, settings="{}",
            reviewers=tuple(self.reviewers), documents=tuple(self.documents), document_files=tuple(self.documents),
            checks=self.checks, checks_allowed=self.allowed, version="0", owed=owed,
            coverage=self.coverage,
        )  # fmt: skip

    def world(self, run_id: str) -> World:
        return World(
            change=self.change, trees=self.git, repository=self.git, analyzers=self.reviewers, documents=self.documents,
            fixers={"edits": self.fixer}, checks=self.judge, tracker=self.tracker,
            artifacts=FolderArtifacts(self.folder / "runs" / run_id), cache=self.store, reports={"report.md": REPORTS["report.md"]},
            protected=self.protected, suppressions=SUPPRESSIONS, clock=lambda: float(self.tick()),
        )  # fmt: skip

    def run(self, workflow: str = "", watch: Watch | None = None, owed=()) -> Run:
        run_id = f"r{next(self.ids)}"
        text = workflow or load_builtin("proven").text
        entry = self.store.append(
            run_id, "start", "started", self.started(text, owed), float(self.tick())
        )
        return self._driven(fold(made_run(id=run_id), entry), watch)

    def resume(self, run_id: str, watch: Watch | None = None) -> Run:
        run = self.load(run_id)
        entry = self.store.append(
            run_id, "signal", f"resumed {run.seq}", ev.Resumed(version="0"), float(self.tick())
        )
        return self._driven(fold(run, entry), watch)

    def answer(self, run: Run, choice: str) -> Run:
        self.store.append(
            run.id,
            run.waiting_for.place,
            "answer",
            ev.Answered(choice=choice, by="Ada"),
            float(self.tick()),
        )
        return self.resume(run.id)

    def load(self, run_id: str) -> Run:
        return fold_entries(run_id, self.store.read(run_id))

    def audit(self, run_id: str) -> Audit:
        kept = self.store.take_snapshot(run_id)
        return audit_lines(run_id, kept.lines, head=kept.head)

    def _driven(self, run: Run, watch: Watch | None) -> Run:
        started = run.started
        workflow = parse_workflow(started.workflow, "mine", "mine.yaml")

        async def main():
            return await Engine(
                workflow, self.world(run.id), self.store, self.limits, watch or Watch()
            ).drive(run)

        return asyncio.run(main())


def finding(
    number: int, path: str = "a.py", line: int | None = 1, severity: Severity = MAJOR, **more
) -> Finding:
    """One of a document's."""
    known = {"id": f"d{number}", "source": "document", "title": f"`thing{number}` is wrong", **more}
    return Finding(spot=Spot(path, line), severity=severity, **known)


def said_by(source: str, *findings: Finding) -> tuple[Finding, ...]:
    return tuple(replace(each, source=source) for each in findings)
