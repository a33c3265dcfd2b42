"""The words all reports share."""

from punchlist.model.item.item import Fact
from punchlist.model.patch.change import Change, ScopeKind

FACTS = {
    Fact.SAID_FIXED: "said fixed",
    Fact.SAID_DEFERRED: "deferred",
    Fact.SAID_BLOCKED: "blocked",
    Fact.EXCUSE_REFUSED: "excuse not accepted",
    Fact.SET_ASIDE: "set aside",
    Fact.CONFIRMED: "confirmed",
    Fact.CONTESTED: "contested",
    Fact.CONTEST_AGREED: "contested, and agreed",
    Fact.REJECTED: "rejected",
    Fact.COMMITTED: "landed",
    Fact.FILED: "filed",
    Fact.DISMISSED: "dismissed",
    Fact.SEEN_AGAIN: "seen again",
    Fact.RESTORED: "taken up again",
}


def scope(change: Change) -> str:
    """What was under review."""
    base, head = change.base_name or change.base[:9], change.head[:9]
    said = {
        ScopeKind.ALL: f"everything at {head}",
        ScopeKind.BRANCH: f"the branch at {head} against {base}",
        ScopeKind.STAGED: f"what is staged, against {base}",
        ScopeKind.COMMIT: f"the commit {head}",
    }[change.kind]
    return f"{said}, below {', '.join(change.paths)}" if change.paths else said
