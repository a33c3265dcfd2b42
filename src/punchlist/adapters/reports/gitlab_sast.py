"""GitLab's SAST report: what is unresolved and about security, as the security pages read it.

https://docs.gitlab.com/development/integrations/secure/#report
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID, uuid5

import msgspec
from msgspec import Struct

from punchlist._version import __version__
from punchlist.model.finding.severity import Severity
from punchlist.model.ledger.run import Run
from punchlist.views.escaping import escape_controls, escape_path, one_line, web_address
from punchlist.views.review.diagnostics import ReviewDiagnostic, find_unreviewed, list_diagnostics

_VERSION = "15.2.1"
_SECURITY = "security"
_LEVELS = {Severity.CRITICAL: "Critical", Severity.MAJOR: "High", Severity.MINOR: "Low"}
_NAMES = UUID("6f2b7e1c-5a0e-5c1a-9f0e-0c5f3f2f7d11")
_NAME_LIMIT = 255
_TEXT_LIMIT = 100_000


class _Vendor(Struct, frozen=True):
    name: str = "Punchlist"


class _SastTool(Struct, frozen=True):
    id: str = "punchlist"
    name: str = "Punchlist"
    vendor: _Vendor = _Vendor()
    version: str = __version__


class _Scan(Struct, frozen=True, kw_only=True):
    start_time: str
    end_time: str
    status: str
    type: str = "sast"
    analyzer: _SastTool = _SastTool()
    scanner: _SastTool = _SastTool()


class _Identifier(Struct, frozen=True, kw_only=True, omit_defaults=True):
    type: str
    name: str
    value: str
    url: str = ""


class _Location(Struct, frozen=True, kw_only=True, omit_defaults=True):
    file: str
    start_line: int | None = None
    end_line: int | None = None


class _Vulnerability(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    description: str
    severity: str
    identifiers: tuple[_Identifier, ...]
    location: _Location


class _Report(Struct, frozen=True, kw_only=True):
    version: str = _VERSION
    vulnerabilities: tuple[_Vulnerability, ...]
    scan: _Scan


def render(run: Run) -> bytes:
    whole = run.ended and next(find_unreviewed(run), None) is None
    report = _Report(
        vulnerabilities=tuple(_list_vulnerabilities(run)),
        scan=_Scan(
            start_time=_format_time(run.started_at),
            end_time=_format_time(run.last_at),
            status="success" if whole else "failure",
        ),
    )
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def _list_vulnerabilities(run: Run) -> Iterator[_Vulnerability]:
    """Yield what a reviewer calls a matter of security; without a file GitLab takes none."""
    for found in list_diagnostics(run):
        if found.finding.category == _SECURITY and found.spot.path:
            yield _make_vulnerability(found)


def _make_vulnerability(found: ReviewDiagnostic) -> _Vulnerability:
    first, last = found.spot.line_range
    kind = _clean(one_line(found.finding.source)) or "reviewer"
    rule = _clean(found.rule)[:_NAME_LIMIT]
    text = _clean(escape_controls(found.finding.detail.strip()) or found.message)
    return _Vulnerability(
        id=str(uuid5(_NAMES, _clean(f"{found.fingerprint} {found.number}"))),
        name=_clean(found.message)[:_NAME_LIMIT],
        description=text[:_TEXT_LIMIT],
        severity=_LEVELS[found.severity],
        identifiers=(
            _Identifier(type=kind, name=rule, value=rule, url=web_address(found.finding.url)),
        ),
        location=_Location(
            file=_clean(escape_path(found.spot.path.removeprefix("./"))),
            start_line=first or None,
            end_line=last or None,
        ),
    )


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")
