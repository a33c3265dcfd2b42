"""The words of a stacked pull request, and which fixes it holds."""

from collections.abc import Collection, Mapping

from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.issue_text import inline_code
from punchlist.views.item_words import format_proofs
from punchlist.views.pulls.board import is_proven
from punchlist.views.pulls.board_text import limit_line
from punchlist.views.pulls.conversation import PullRequest
from punchlist.views.pulls.marks import MarkKind, add_mark
from punchlist.views.pulls.stack import StackBoard, hash_key, mark_tip, name_branch

_ROWS = 200
_HOW = (
    "Later runs update it in place, as long as only punchlist pushes to its branch. If you close"
    " it, these fixes are not offered in a pull request again, unless `/punchlist stack` on {} asks"
    " for them."
)
_KEYS = 1500
"""So many fixes are known again once a person has closed the pull request with them."""


def list_offered(run: Run, keys: Mapping[int, str], refused: Collection[str]) -> frozenset[int]:
    """Return the items whose fixes are proven, and that people did not refuse."""
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
    rows = [_render_row(item) for item in held[:_ROWS]]
    rows += [f"- and {len(held) - _ROWS} more"] if len(held) > _ROWS else []
    known = sorted(hash_key(keys.get(each.number, each.fingerprint)) for each in held)[:_KEYS]
    name, branch = pull.markup.name_pull(pull.number), inline_code(pull.head_name)
    parts = (
        f"{count} for [{name}]({pull.url}): merge this to take all of them into {branch}.",
        "\n".join(rows),
        _HOW.format(name),
        f"<sub>Run {inline_code(run.id)} at `{run.started.change.head[:10]}`</sub>",
        mark_tip(tip),
        f"<!-- punchlist-fixes{''.join(f' {key}' for key in known)} -->",
    )
    body = pull.markup.finish("\n\n".join(parts))
    return StackBoard(
        branch=name_branch(pull.number),
        base_name=pull.head_name,
        title=f"Punchlist: {count} for {name}",
        body=add_mark(body, MarkKind.STACK, str(pull.number)),
    )


def _render_row(item: Item) -> str:
    spot = item.lead.spot
    where = f"{spot.path}:{spot.line}" if spot.line else spot.path
    title = limit_line(item.lead.title, 160).replace("[", "(").replace("]", ")")
    place = f" {inline_code(where)}" if where else ""
    return f"- **{item.severity}** {title}{place}: {format_proofs(item)}"
