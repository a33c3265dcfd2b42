"""The words of a stacked pull request, and which fixes it holds."""

from collections.abc import Collection, Mapping, Sequence

from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.issue_text import inline_code
from punchlist.views.item_words import format_proofs
from punchlist.views.pulls.board import is_proven
from punchlist.views.pulls.board_text import limit_line
from punchlist.views.pulls.conversation import PullRequest
from punchlist.views.pulls.marks import BODY_LIMIT, MarkKind, add_mark
from punchlist.views.pulls.stack import UNLISTED, StackBoard, hash_key, mark_tip, name_branch

_ROWS = 200
_SPARE = 1000
"""Characters that are left for the reason why it is closed."""
_MORE = "- and {} more"
_HOW = (
    "Later runs update it in place, as long as only punchlist pushes to its branch. If you close"
    " it, these fixes are not offered in a pull request again, unless `/punchlist stack` on {} asks"
    " for them."
)
_KEYS = 4000
"""So many fixes are known one by one once a person has closed the pull request with them."""


def list_offered(run: Run, keys: Mapping[int, str], refused: Collection[str]) -> frozenset[int]:
    """Return the items whose fixes are proven, and that people did not refuse."""
    if UNLISTED in refused:
        return frozenset()
    proven = (item for item in run.find_items(Status.FIXED) if is_proven(item))
    return frozenset(
        item.number
        for item in proven
        if hash_key(keys.get(item.number, item.fingerprint)) not in refused
    )


def make_stack(
    pull: PullRequest, run: Run, items: Collection[int], keys: Mapping[int, str], tip: str
) -> StackBoard:
    """Return the pull request with the fixes of these items, whose branch is at `tip`."""
    held = sorted((run.items[number] for number in items), key=reading_order)
    count = pluralize(len(held), "proven fix", "proven fixes")
    known = sorted({hash_key(keys.get(each.number, each.fingerprint)) for each in held})
    if len(known) > _KEYS:
        known = [*known[:_KEYS], UNLISTED]
    name, branch = pull.markup.name_pull(pull.number), inline_code(pull.head_name)

    def render(rows: str) -> str:
        parts = (
            f"{count} for [{name}]({pull.url}): merge this to take all of them into {branch}.",
            rows,
            _HOW.format(name),
            f"<sub>Run {inline_code(run.id)} at `{run.started.change.head[:10]}`</sub>",
            mark_tip(tip),
            f"<!-- punchlist-fixes{''.join(f' {key}' for key in known)} -->",
        )
        body = pull.markup.finish("\n\n".join(parts))
        return add_mark(body, MarkKind.STACK, str(pull.number))

    return StackBoard(
        branch=name_branch(pull.number),
        base_name=pull.head_name,
        title=f"Punchlist: {count} for {name}",
        body=render(_list_rows(held, BODY_LIMIT - _SPARE - len(render("")))),
    )


def _list_rows(held: Sequence[Item], room: int) -> str:
    """Return a row for each item that fits into so many characters, and how many do not."""
    rows: list[str] = []
    room -= len(_MORE.format(len(held)))
    for item in held[:_ROWS]:
        row = _render_row(item)
        room -= len(row) + 1
        if room < 0:
            break
        rows.append(row)
    left = len(held) - len(rows)
    return "\n".join([*rows, _MORE.format(left)] if left else rows)


def _render_row(item: Item) -> str:
    spot = item.lead.spot
    where = f"{spot.path}:{spot.line}" if spot.line else spot.path
    title = limit_line(item.lead.title, 160).replace("[", "(").replace("]", ")")
    place = f" {inline_code(where)}" if where else ""
    return f"- **{item.severity}** {title}{place}: {format_proofs(item)}"
