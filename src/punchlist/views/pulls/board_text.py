"""The words of the board, in the Markdown of forges. Foreign text is made safe first."""

import re
from urllib.parse import quote

from msgspec import Struct

from punchlist.model.finding.finding import Spot
from punchlist.model.item.item import Fact, Item, Status
from punchlist.model.ledger.run import Run
from punchlist.views.escaping import web_address
from punchlist.views.issue_text import inline_code, render_issue
from punchlist.views.item_words import format_proofs, unfixed_reason
from punchlist.views.pulls.conversation import PullRequest
from punchlist.views.pulls.marks import BODY_LIMIT, clean_body
from punchlist.views.pulls.suggestion import Suggestion, render_suggestion
from punchlist.views.safe_text import safe_text

_DETAIL = 3_000
_WHY = 600
_HUNK_LINES = 40
_SUMMARY_ROOM = 60_000
_MARK_LINE = re.compile(r"\n*<!-- punchlist:[a-z]+[^\n]*-->\Z")
_GONE = "\n\n**No longer reported**"
_HELP = (
    "<sub>People who may write here can reply `/punchlist dismiss WHY`, `explain`, `fix`, `again`"
    ", `apply` or `stack`, in the first line of a comment.</sub>"
)


BY_HAND = "This server does not let programs resolve threads: please resolve it."


class ItemTelling(Struct, frozen=True, kw_only=True):
    """An item and what is known of its fix. `landed`: the pull request's head has it; `stack`: a
    link to the stacked pull request that has it.
    """

    item: Item
    run: Run
    pull: PullRequest
    landed: bool = False
    proven: bool = False
    suggestion: Suggestion | None = None
    stack: str = ""


class SummaryRow(Struct, frozen=True, kw_only=True):
    item: Item
    link: str = ""
    landed: bool = False
    stack: str = ""


class SummaryPage(Struct, frozen=True, kw_only=True):
    pull: PullRequest
    run: Run
    headline: str
    rows: tuple[SummaryRow, ...]
    landed: bool = False
    stack: str = ""
    outside: int = 0
    notes: tuple[str, ...] = ()


def find_spot(item: Item, *, landed: bool) -> Spot:
    """Return the item's place in the pull request's head: where it was reported first, or, once the
    fixes are in, where it was seen last.
    """
    return item.current.spot if landed else item.lead.spot


def limit_line(words: str, limit: int) -> str:
    """Return safe text on one line, at most so long."""
    line = " ".join(safe_text(words).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def fit_body(body: str) -> str:
    return body if len(body) <= BODY_LIMIT else body[: BODY_LIMIT - 1] + "…"


def without_mark(body: str) -> str:
    """Return one of our comments without its mark and without what was added at its end."""
    return _MARK_LINE.sub("", clean_body(body)).partition(_GONE)[0]


def render_item(telling: ItemTelling) -> str:
    """Return the comment that begins the thread of an item."""
    item = telling.item
    reporters = ", ".join(dict.fromkeys(map(_name_reporter, item.findings)))
    parts = [
        f"**[{item.severity.upper()}] {limit_line(item.lead.title, 200)}**",
        _clip_text(item.lead.detail, _DETAIL),
        _clip_text(item.lead.suggestion, _WHY) if not telling.suggestion else "",
        render_state(telling),
        f"<sub>{reporters} · item {item.number} of run {inline_code(telling.run.id)}</sub>",
        _HELP,
    ]
    return "\n\n".join(filter(None, parts))


def render_state(telling: ItemTelling) -> str:
    """Return what became of the item: fixed with its proof, suggested, or left with the reason."""
    item = telling.item
    match item.status:
        case Status.DISMISSED:
            return render_dismissed(*_find_dismissal(item))
        case Status.FIXED if telling.landed:
            word = "**Fixed**" if telling.proven else "**Changed, and not proven**,"
            return f"{word} in {_link_commit(telling)}. Proof: {format_proofs(item)}."
        case Status.FIXED:
            return _render_ready(telling)
        case _:
            why = limit_line(unfixed_reason(item) or "it was not tried", _WHY)
            filed = web_address(item.issue)
            return f"**Not fixed**: {why}." + (f" Filed as {filed}." if filed else "")


def _render_ready(telling: ItemTelling) -> str:
    item = telling.item
    word = "**A fix is ready**" if telling.proven else "**A change is ready, and not proven**"
    where = f" in {telling.stack}" if telling.stack else ""
    told = f"{word}{where}. Proof: {format_proofs(item)}."
    if telling.suggestion:
        return f"{told}\n\n{render_suggestion(telling.suggestion, telling.pull.markup)}"
    hunks = _render_hunks(telling)
    return f"{told} `/punchlist apply` pushes it to this branch.\n\n{hunks}".rstrip()


def _render_hunks(telling: ItemTelling) -> str:
    """Return the item's change as a diff, if it is short."""
    diff = telling.run.by_item.diffs.get(telling.item.number)
    if diff is None or any(hunk.cut for hunk in diff.hunks):
        return ""
    lines = []
    for hunk in diff.hunks:
        lines += [f"--- {limit_line(hunk.path, 200)}:{hunk.line}", *hunk.lines]
    if len(lines) > _HUNK_LINES:
        return ""
    text = "\n".join(lines)
    fence = "`" * max(3, max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"{fence}diff\n{text}\n{fence}"


def render_reply(telling: ItemTelling) -> str:
    """Return the answer in a thread of others."""
    item = telling.item
    about = f"<sub>item {item.number} of punchlist run {inline_code(telling.run.id)}</sub>"
    return f"{render_state(telling)}\n\n{about}"


def render_fixed(commit: str, proofs: str, pull: PullRequest) -> str:
    """Return the answer in a thread whose fix of an earlier run is in the pull request."""
    where = f"[`{commit[:10]}`]({pull.link_commit(commit)})"
    return f"**Fixed** in {where}. Proof: {proofs}."


def render_dismissed(by: str, why: str) -> str:
    return f"**Dismissed** by {inline_code(by)}: {limit_line(why, _WHY)}"


def render_gone(was: str, who: str, head: str) -> str:
    """Return the comment of an item that is no longer reported, with what it was."""
    return f"{was}{_GONE} by {limit_line(who, 200)} at `{head[:10]}`."


def render_ended(was: str, commit: str, proofs: str, pull: PullRequest) -> str:
    """Return the comment of an item whose fix of an earlier run is in the pull request."""
    return f"{was}{_GONE}. {render_fixed(commit, proofs, pull)}"


def render_explanation(item: Item, run_id: str) -> str:
    """Return all that is known of an item."""
    return render_issue(item, run_id).body.rpartition("\n\n<!--")[0]


def render_annotation(item: Item) -> str:
    """Return the item in plain words, for a line of the diff."""
    why = unfixed_reason(item)
    state = "a fix is ready" if item.status is Status.FIXED else f"not fixed: {why}" if why else ""
    return "\n".join(filter(None, (limit_line(item.lead.title, 500), limit_line(state, _WHY))))


def render_summary(page: SummaryPage) -> str:
    """Return the summary, worst items first, as many as there is room for."""
    run = page.run
    parts = [f"## Punchlist: {limit_line(page.headline, 300)}"]
    parts += [f"> {limit_line(note, 400)}" for note in page.notes]
    lines: list[str] = []
    room = _SUMMARY_ROOM
    for row in page.rows:
        line = _render_row(page, row)
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    if left := len(page.rows) - len(lines):
        lines.append(f"- and {left} more: `punchlist show {run.id}`")
    parts.append("\n".join(lines))
    if page.outside:
        parts.append(f"{page.outside} more outside the lines of this pull request.")
    parts += [_describe_branch(page), _HELP]
    return "\n\n".join(filter(None, parts))


def _describe_branch(page: SummaryPage) -> str:
    run = page.run
    landed = [row.landed for row in page.rows if row.item.status is Status.FIXED]
    head = f"Run {inline_code(run.id)} at `{run.started.change.head[:10]}`"
    if not landed:
        return f"{head}."
    if all(landed):
        return f"{head}; its fixes are in this branch."
    how = "commit the suggestions, or reply `/punchlist apply`"
    if page.stack:
        how = f"merge {page.stack}, {how}"
    left = f"{landed.count(False)} of " if any(landed) else ""
    return f"{head}; {left}its fixes are not in this branch yet: {how}."


_WORDS = {
    Status.FIXED: "a fix is ready",
    Status.DISMISSED: "dismissed",
    Status.FILED: "not fixed",
    Status.BLOCKED: "blocked",
    Status.DEFERRED: "not fixed",
    Status.OPEN: "not fixed",
    Status.CLAIMED: "not judged yet",
}


def _render_row(page: SummaryPage, row: SummaryRow) -> str:
    item = row.item
    spot = find_spot(item, landed=page.landed)
    title = limit_line(item.lead.title, 160).replace("[", "(").replace("]", ")")
    where = f"{spot.path}:{spot.line}" if spot.line else spot.path
    link = row.link or link_lines(page.pull, spot)
    named = f"[{title}]({link})" if link else title
    state = "fixed" if row.landed else _WORDS[item.status]
    state += f" in {row.stack}" if row.stack and not row.landed else ""
    place = f" {inline_code(where)}" if where else ""
    return f"- **{item.severity}** {named}{place}: {state}"


def link_lines(pull: PullRequest, spot: Spot) -> str:
    """Return the permanent address of lines at the head, or "" without a file."""
    if not spot.path:
        return ""
    first, last = spot.line_range
    name = quote(spot.path.encode("utf-8", "surrogateescape"))
    return pull.link_lines(name, first, last)


def _link_commit(telling: ItemTelling) -> str:
    commit = telling.item.commit
    return f"[`{commit[:10]}`]({telling.pull.link_commit(commit)})"


def _find_dismissal(item: Item) -> tuple[str, str]:
    """Return who dismissed the item, and why."""
    said = [each for each in item.attempts if each.fact in (Fact.DISMISSED, Fact.CONTEST_AGREED)]
    if not said:
        return "punchlist", "no reason is recorded"
    return said[-1].by or "punchlist", said[-1].why


def _name_reporter(finding: object) -> str:
    source, rule = getattr(finding, "source", ""), getattr(finding, "rule", "")
    return limit_line(f"{source} {rule}".strip(), 120)


def _clip_text(text: str, limit: int) -> str:
    safe = safe_text(text.strip())
    return safe if len(safe) <= limit else safe[:limit].rstrip() + " […]"
