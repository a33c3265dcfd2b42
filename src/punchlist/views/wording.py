"""Words that all reports share."""

from punchlist.model.patch.change import Change, ScopeKind


def describe_scope(change: Change) -> str:
    """Return in words what was under review."""
    base, head = change.base_name or change.base[:9], change.head[:9]
    said = {
        ScopeKind.ALL: f"everything at {head}",
        ScopeKind.BRANCH: f"the branch at {head} against {base}",
        ScopeKind.STAGED: f"what is staged, against {base}",
        ScopeKind.COMMIT: f"the commit {head}",
    }[change.kind]
    return f"{said}, below {', '.join(change.paths)}" if change.paths else said
