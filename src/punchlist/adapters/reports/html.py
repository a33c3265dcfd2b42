"""One self-contained HTML page: no network, works without scripts, escapes all text."""

from base64 import b64encode
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from punchlist._version import __version__
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.ledger.run import Run
from punchlist.views import html_view as page
from punchlist.views.escaping import escape_controls
from punchlist.views.item_words import PROOF_WORDS
from punchlist.views.run_state import OUTCOME_WORDS
from punchlist.views.summary import summarize_run
from punchlist.views.words import describe_scope, format_cost, format_duration

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATES = Path(__file__).with_name("templates")
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src {}; img-src data:; base-uri 'none';"
    " form-action 'none'"
)
_CODE = late_pattern(r"(?<!`)`([^`\n]+)`(?!`)")
MANY = 400
"""From so many items on, the board shows them without numbers."""


def render(run: Run) -> bytes:
    found = page.group_items(run)
    script = _load_asset("report.js")
    html = _load_template().render(
        run=run,
        told=summarize_run(run),
        groups=found,
        laps=page.make_laps(run),
        lanes=page.make_lanes(run),
        turns=page.round_ends(run),
        tools=page.list_tools(found),
        paths=page.list_paths(found),
        many=len(run.items) > MANY,
        started=datetime.fromtimestamp(run.started_at, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        took=format_duration(run.active),
        where=run.started.repository.removesuffix("/.git").rpartition("/")[2],
        scope=describe_scope(run.started.change),
        style=_load_asset("report.css"),
        script=script,
        policy=_POLICY.format(_hash_script(script)),
        version=__version__,
    )
    return html.encode("utf-8", "replace")


@cache
def _load_template() -> "Template":
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from punchlist.adapters.reports.template_cache import CompiledTemplates

    class StructSandbox(ImmutableSandboxedEnvironment):
        def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
            """Allow fields of Structs at once; asking the sandbox for each is slow."""
            ours = isinstance(obj, Struct) and attr in obj.__struct_fields__
            return ours or super().is_safe_attribute(obj, attr, value)

    environment = StructSandbox(
        loader=FileSystemLoader(_TEMPLATES),
        bytecode_cache=CompiledTemplates(_TEMPLATES, Path(__file__).read_bytes()),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_escape_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cost"] = format_cost
    environment.filters["ticked"] = _format_code
    environment.filters["proof_words"] = lambda kind: PROOF_WORDS[kind][0]
    environment.filters["outcome_words"] = lambda outcome: OUTCOME_WORDS[outcome][0]
    return environment.get_template("report.html")


def _escape_value(value: object) -> object:
    """Make control characters visible in every text; HTML escaping comes after."""
    return escape_controls(value) if type(value) is str else value


def _format_code(text: str) -> object:
    """Return the text with parts in backticks as <code>."""
    from markupsafe import Markup

    if "`" not in text:
        return text
    parts = _CODE.split(escape_controls(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if odd % 2 else part
        for odd, part in enumerate(parts)
    )


@cache
def _load_asset(name: str) -> str:
    """Return a file of ours, marked as safe."""
    from markupsafe import Markup

    return Markup((_TEMPLATES / name).read_text("utf-8"))  # noqa: S704 - never text of others


def _hash_script(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
