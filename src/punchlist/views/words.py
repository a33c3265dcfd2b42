"""Numbers, times and findings as people read them, the same on every surface.

What is said of a finding is not made safe here: each surface does that in its own way.
"""

from punchlist.model.finding.finding import Finding
from punchlist.model.item.usage import Usage
from punchlist.model.patch.change import Change, ScopeKind

_MINUTE = 60
_HOUR = 3600
_DAY = 86400
_DIME = 0.1
NO_ROUNDS = "0 rounds were asked for: no fix was tried"


def format_duration(seconds: float) -> str:
    """Return the duration as short text."""
    if seconds < 1:
        return f"{max(0, seconds) * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def clock(seconds: float) -> str:
    """Return the time on a running clock: 3s, 1:05, 2:03:09."""
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{whole}s"
    minutes, rest = divmod(whole, _MINUTE)
    if whole < _HOUR:
        return f"{minutes}:{rest:02}"
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def format_age(seconds: float) -> str:
    """Return how long ago something was: 5 min ago, 2 h ago, 3 d ago."""
    for size, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {name} ago"
    return "just now"


def format_dollars(value: float) -> str:
    """Return dollars with cents; below one dollar with three digits."""
    return f"${value:,.2f}" if value >= _DIME or not value else f"${value:.3f}"


def format_cost(usage: Usage) -> str:
    """Return what agents cost; what is not known is called unknown, never $0.00."""
    if not usage.dollars:
        free = not usage.unpriced and not usage.input_tokens and not usage.output_tokens
        return format_dollars(0) if free else "cost unknown"
    least = "at least " if usage.unpriced or usage.cut else ""
    return f"{least}{format_dollars(usage.dollars)}"


def tokens(usage: Usage) -> str:
    return f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"


def place(finding: Finding) -> str:
    """Return path:line, as editors and terminals link it."""
    path = finding.spot.path or "(no file)"
    return f"{path}:{finding.spot.line}" if finding.spot.line else path


def headline(finding: Finding) -> str:
    """Return the title, after the rule where the title does not name it."""
    named = not finding.rule or finding.rule in finding.title
    return finding.title if named else f"{finding.rule} {finding.title}"


def describe_scope(change: Change) -> str:
    """Return in words what was under review."""
    base, head = change.base_name or change.base[:9], change.head[:9]
    branch = f"the branch at {head}"
    if change.on_disk:
        branch = "the working tree" if base == "HEAD" else "the branch and the working tree"
    said = {
        ScopeKind.ALL: "everything on disk" if change.on_disk else f"everything at {head}",
        ScopeKind.BRANCH: f"{branch} against {base}",
        ScopeKind.STAGED: f"what is staged, against {base}",
        ScopeKind.COMMIT: f"the commit {head}",
    }[change.kind]
    return f"{said}, below {', '.join(change.paths)}" if change.paths else said
