"""File findings of the library with a tracker, with their whole history."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

from msgspec.structs import replace

from punchlist.app.session import Session
from punchlist.app.start.tracker import make_tracker
from punchlist.library.json_values import JsonValue
from punchlist.library.tracked import F, TrackedFinding, make_item
from punchlist.model.dedup.identity import fingerprint
from punchlist.ports.tracker import Tracker
from punchlist.views.issue_text import render_issue

_RUN = "punchlist.library"


class TechDebtIssueResult(JsonValue, frozen=True):
    """The issue of one finding, or why there is none."""

    finding_id: str
    title: str
    issue_url: str = ""
    labels: tuple[str, ...] = ()
    error: str = ""

    @property
    def success(self) -> bool:
        return bool(self.issue_url)


@asynccontextmanager
async def open_tracker(
    repository: str | Path = ".", settings: Mapping[str, str] | None = None
) -> AsyncIterator[Tracker]:
    """Lend the tracker that the settings name: `track.to` is "files", "github" or "gitlab"."""
    with closing(await Session.open(Path(repository), settings or {})) as session:
        yield make_tracker(session.settings(), await session.workshop())


async def create_issues(
    findings: Sequence[TrackedFinding[F]], tracker: Tracker, labels: Sequence[str] = ("tech-debt",)
) -> list[TechDebtIssueResult]:
    """File the findings, one issue each; one that has an issue already keeps it."""
    twins: Counter[str] = Counter()
    texts = []
    for number, tracked in enumerate(findings, 1):
        item = make_item(number, tracked)
        same = twins[item.fingerprint]
        twins[item.fingerprint] += 1
        item = replace(item, fingerprint=fingerprint(item.lead, same))
        text = render_issue(item, _RUN)
        texts.append(replace(text, labels=(*dict.fromkeys((*labels, str(item.severity))),)))
    filed = {filing.item: filing for filing in await tracker.file(texts)} if texts else {}
    results = []
    for text in texts:
        filing = filed.get(text.item.number)
        results.append(
            TechDebtIssueResult(
                finding_id=text.item.lead.label,
                title=text.title,
                issue_url=filing.ref if filing else "",
                labels=text.labels,
                error=filing.failed if filing else "the tracker said nothing of it",
            )
        )
    return results
