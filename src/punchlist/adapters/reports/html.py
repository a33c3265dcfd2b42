"""One self-contained HTML page: it asks nothing of the network, works without scripts, and trusts
no text it shows.
"""

import re
from base64 import b64encode
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from punchlist._version import __version__
from punchlist.model.ledger.run import Run
from punchlist.views import html_view as page
from punchlist.views.escaping import visible
from punchlist.views.item_words import PROOF_WORDS
from punchlist.views.run_state import OUTCOME_WORDS
from punchlist.views.summary import summary
from punchlist.views.wording import scope
from punchlist.views.words import duration

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATES = Path(__file__).with_name("templates")
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src {}; img-src data:; base-uri 'none';"
    " form-action 'none'"
)
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
MANY = 400
"""From so many items on, the board shows them without numbers."""


def render(run: Run) -> bytes:
    found = page.groups(run)
    style, script = _asset("report.css"), _asset("report.js")
    html = _template().render(
        run=run,
        told=summary(run),
        groups=found,
        laps=page.laps(run),
        lanes=page.lanes(run),
        turns=page.turns(run),
        tools=page.tools(found),
        paths=page.paths(found),
        many=len(run.items) > MANY,
        started=datetime.fromtimestamp(run.started_at, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        took=duration(run.active),
        where=run.started.repository.removesuffix("/.git").rpartition("/")[2],
        scope=scope(run.started.change),
        style=_trusted(style),
        script=_trusted(script),
        policy=_POLICY.format(_hash(script)),
        version=__version__,
    )
    return html.encode("utf-8", "replace")


@cache
def _template() -> "Template":
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Frozen(ImmutableSandboxedEnvironment):
        def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
            """Fields of frozen data are safe to read; asking the sandbox about each would take most
            of the time.
            """
            ours = isinstance(obj, Struct) and attr in obj.__struct_fields__
            return ours or super().is_safe_attribute(obj, attr, value)

    environment = Frozen(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["ticked"] = _ticked
    environment.filters["proof_words"] = lambda kind: PROOF_WORDS[kind][0]
    environment.filters["outcome_words"] = lambda outcome: OUTCOME_WORDS[outcome][0]
    return environment.get_template("report.html")


def _shown(value: object) -> object:
    """Every text on its way into the page is made visible first; escaping comes after."""
    return visible(value) if type(value) is str else value


def _ticked(text: str) -> object:
    """Text with what stands in backticks as code."""
    from markupsafe import Markup

    if "`" not in text:
        return text
    parts = _CODE.split(visible(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if odd % 2 else part
        for odd, part in enumerate(parts)
    )


def _trusted(text: str) -> object:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our own files, never text of others


@cache
def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


def _hash(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
