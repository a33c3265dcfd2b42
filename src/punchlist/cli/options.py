"""Options that several commands share, and the request made of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct
from msgspec.structs import replace

from punchlist.app.start.request import Request
from punchlist.errors import UsageError
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import CommitGrouping
from punchlist.model.patch.change import ScopeKind

if TYPE_CHECKING:
    from punchlist.app.fleet.enqueue import QueueOptions

F = TypeVar("F", bound=Callable[..., Any])

_TIME = late_pattern(r"(\d+(?:\.\d+)?)(s|m|h)?")
_UNITS = {"s": 1, "m": 60, "h": 3600, None: 1}


def flag(*names: str, help: str) -> Callable[[F], F]:  # noqa: A002 - click's word
    return click.option(*names, is_flag=True, help=help)


def repeatable(*names: str, **attributes: Any) -> Callable[[F], F]:
    return click.option(*names, multiple=True, **attributes)


class OutputMode(Struct, frozen=True):
    json: bool = False
    events: bool = False
    quiet: bool = False
    verbose: bool = False
    follow: bool = False
    """In the terminal view, and the result afterwards."""
    check: bool = False
    """The exit code is not 0 while the code under review lacks the fixes."""
    form: str = ""
    """The report for another program that stdout gets alone: one of FORMS but text and json."""
    statistics: bool = False
    """Count by rule in the place of the problems."""
    queue: "QueueOptions | None" = None
    """How the run is queued; None: it is driven here."""

    @property
    def machine(self) -> bool:
        return self.json or self.events or bool(self.form)


FORMS = ("text", "json", "sarif", "github", "gitlab", "gitlab-sast", "rdjson", "junit")


json_option = flag("--json", "json_", help="One JSON document on stdout, also for an error.")
rows_option = click.option(
    "-n",
    "limit",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="How many rows; 0 for all.",
)
_NUMBER = late_pattern(r"\d{1,3}(?:-\d{1,3})?")
"""An id of a run begins with a date, so a shorter number, or a range, names items."""
_ITEMS = "punchlist.items"


def find_run_id(context: click.Context, _: click.Parameter, named: str) -> str:
    """Return the run id; "last" if an item's number stands in its place. Raise UsageError if the
    command takes no items.
    """
    if not _NUMBER.fullmatch(named):
        return named
    if any(parameter.name in ("item", "items") for parameter in context.command.params):
        context.meta[_ITEMS] = named
        return "last"
    raise UsageError(f'"{named}" is not a run', hint='"last", or a part of an id: punchlist list')


def add_number(context: click.Context, parameter: click.Parameter, given: Any) -> Any:
    """Return the items, with the number that stood in the place of the run."""
    number = context.meta.pop(_ITEMS, None)
    if number is None:
        return given
    if parameter.nargs == -1:
        return (number, *given)
    if given is not None:
        hint = f"{context.command_path} last {given}; `punchlist list` shows the runs"
        raise UsageError(f'"{number}" is not a run', hint=hint)
    return number


item_argument = click.argument("item", required=False, callback=add_number)
items_argument = click.argument("items", metavar="[ITEM...]", nargs=-1, callback=add_number)
run_argument = click.argument(
    "run_id", metavar="[RUN]", required=False, default="last", callback=find_run_id
)
run_or_none_argument = click.argument(
    "run_id", metavar="[RUN]", required=False, default="", callback=find_run_id
)
required_run_argument = click.argument("run_id", metavar="RUN", callback=find_run_id)
set_option = repeatable(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    help="Set a setting for this command; `punchlist doctor --settings` lists them.",
)


def combine_options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply_all(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply_all


output_options = combine_options(
    json_option,
    flag("--events", help="JSON lines on stdout: each entry of the ledger as it happens."),
    flag("-q", "--quiet", help="No progress; only what came of it."),
)
format_option = click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default="text",
    show_default=True,
    help="What stdout gets: text, or a document for another program; progress is on stderr.",
)
follow_option = flag(
    "--follow", help="Follow and steer it in the terminal view, as `punchlist show --follow` does."
)
check_option = flag(
    "--check",
    help="For CI: exit with 8, not 0, if all is fixed and the code under review lacks the fixes.",
)
_SEVERITIES = click.Choice([each.value for each in Severity])
selection_options = combine_options(
    repeatable(
        "--select", metavar="RULE", help="Only these rules: F401, 'F4*', ruff:F401; also A,B."
    ),
    repeatable("--ignore", metavar="RULE", help="Not these rules."),
    repeatable("--exclude", metavar="PATH", help="Not these paths; patterns as in .gitignore."),
    click.option("--min-severity", type=_SEVERITIES, help="Nothing less severe."),
    click.option(
        "--fail-on", type=_SEVERITIES, help="Exit with 0 if only less severe items are unresolved."
    ),
    flag("--new-only", help="Only what the analyzers do not report of the base."),
    check_option,
)
"""Which findings count; the same as the settings `review.*`."""
_SELECTION = ("select", "ignore", "exclude", "min_severity", "fail_on", "new_only")
scope_options = combine_options(
    click.argument("paths", nargs=-1, type=click.Path()),
    flag("--all", "everything", help="Everything in the repository, not only what changed."),
    flag("--staged", help="What is staged for the next commit."),
    click.option("--commit", metavar="REV", default="", help="What one commit changed."),
    flag("--committed", help="Not what is in files but in no commit yet; the default in CI."),
    click.option(
        "--base",
        metavar="REV",
        default="",
        help="What the branch is compared with. Default: the branch it came from.",
    ),
)
checks_options = combine_options(
    click.option(
        "--yes",
        "allow",
        flag_value=True,
        type=bool,
        default=None,
        help="Let the checks found here run, this time.",
    ),
    click.option(
        "--no-checks",
        "allow",
        flag_value=False,
        type=bool,
        help="Run no checks; fixes are then unverified.",
    ),
)
max_time_option = click.option(
    "--max-time", metavar="TIME", default="", help="Stop fixing after so long: 90, 90s, 15m, 2h."
)
pull_run_options = combine_options(
    max_time_option,
    flag("--force", help="Start a new run, also where nothing has changed."),
    set_option,
    json_option,
    flag("-q", "--quiet", help="No progress; only what came of it."),
)
run_options = combine_options(
    max_time_option,
    flag("--force", help="Start even if the same request is under way."),
    flag("--dry-run", help="Say what would be done; start nothing, write nothing."),
    flag(
        "-v",
        "--verbose",
        help="With all numbers and notes; with --dry-run: with the options of every step.",
    ),
    set_option,
    follow_option,
    output_options,
)
queue_options = combine_options(
    flag("--queue", help="Leave the run to the workers of a fleet (`punchlist worker`)."),
    click.option(
        "--label", metavar="NAME", default="", help="With --queue: only workers with this label."
    ),
    click.option(
        "--priority",
        type=click.Choice(["pull-request", "run", "nightly"]),
        default="run",
        show_default=True,
        help="With --queue: which come first.",
    ),
)
commits_option = click.option(
    "--commits",
    type=click.Choice([each.value for each in CommitGrouping if each is not CommitGrouping.MADE]),
    help="Which fixes share a commit; auto: tools' fixes of one rule, each fix of an agent alone.",
)
findings_option = repeatable(
    "--findings",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Findings from a file (SARIF, JSON, rdjson, Markdown); may be given several times.",
)
agent_options = combine_options(
    repeatable(
        "--agent", "agents", metavar="NAME", help="Ask this agent; more are asked where it fails."
    ),
    repeatable(
        "--spec",
        "specification",
        metavar="PATH",
        help="What the change is meant to do, for reviewers.",
    ),
    click.option(
        "--max-cost",
        metavar="DOLLARS",
        type=float,
        default=0,
        help="Start no more calls once agents cost so much.",
    ),
    click.option("--story", metavar="ID", default="", help="The story under review, by its id."),
    click.option("--title", metavar="TEXT", default="", help="The story's title."),
    click.option(
        "--documents",
        metavar="FOLDER",
        default="",
        help="Write findings documents to this folder of the checkout as well.",
    ),
    repeatable("--note", "notes", metavar="TEXT", help="What agents shall know about this run."),
)
workflow_option = combine_options(
    click.option(
        "--workflow",
        metavar="NAME|FILE",
        default="",
        help="A built-in workflow, or a file of your own.",
    ),
    click.option(
        "--rounds",
        "--max-fix-cycles",
        metavar="N",
        type=int,
        help="At most so many rounds of fixing; 0: review and fix nothing.",
    ),
    click.option(
        "--threshold",
        metavar="SCORE",
        type=int,
        help="The least score, 1 to 100, with which a challenger approves a fix.",
    ),
)


def parse_output(chosen: Mapping[str, Any]) -> OutputMode:
    if chosen.get("json_") and chosen.get("events"):
        raise UsageError("--json and --events exclude each other", hint="choose one of them")
    flags = OutputMode(
        json=bool(chosen.get("json_")),
        events=bool(chosen.get("events")),
        quiet=bool(chosen.get("quiet")),
        verbose=bool(chosen.get("verbose")),
        follow=bool(chosen.get("follow")),
        check=bool(chosen.get("check")),
        queue=_parse_queue(chosen),
    )
    output = _choose_form(flags, chosen)
    if output.follow and (output.machine or output.quiet):
        raise UsageError(
            "--follow needs a terminal that shows the run",
            hint="leave out --json, --events, --format and --quiet, or --follow",
        )
    return output


def _choose_form(output: OutputMode, chosen: Mapping[str, Any]) -> OutputMode:
    """Return the mode with --format and --statistics. Raise UsageError if they exclude others."""
    form, statistics = chosen.get("form", "text"), bool(chosen.get("statistics"))
    others = output.machine or statistics or chosen.get("dry_run")
    if output.events if form == "json" else form != "text" and others:
        named = {"--events": output.events, "--json": output.json, "--statistics": statistics}
        other = next((name for name, given in named.items() if given), "--dry-run")
        raise UsageError(f"--format {form} and {other} exclude each other", hint="choose one")
    return replace(
        output,
        json=output.json or form == "json",
        form="" if form in ("text", "json") else form,
        statistics=statistics,
    )


def _parse_queue(chosen: Mapping[str, Any]) -> "QueueOptions | None":
    """Return how to queue the run, or None if it is driven here."""
    if not chosen.get("queue"):
        if chosen.get("label") or chosen.get("priority", "run") != "run":
            raise UsageError("--label and --priority are for queued runs", hint="add --queue")
        return None
    if chosen.get("follow") or chosen.get("events"):
        raise UsageError(
            "--queue leaves the run to workers: there is nothing to follow here",
            hint="leave out --follow and --events; `punchlist show --follow` shows it later",
        )
    from punchlist.app.fleet.enqueue import QueueOptions
    from punchlist.ports.fleet.queue import Priority

    name = chosen["priority"].upper().replace("-", "_")
    return QueueOptions(label=chosen["label"], priority=Priority[name])


def make_request(chosen: Mapping[str, Any]) -> Request:
    from punchlist.app.session import is_ci

    return Request(
        kind=_parse_scope(chosen),
        base=chosen["base"],
        commit=chosen["commit"],
        committed=bool(chosen.get("committed") or chosen.get("queue")) or is_ci(),
        paths=tuple(chosen["paths"]),
        findings=tuple(chosen.get("findings", ())),
        workflow=chosen.get("workflow", ""),
        allow_checks=chosen.get("allow", False),
        force=chosen["force"],
        specification=tuple(chosen.get("specification", ())),
        notes="\n".join(chosen.get("notes", ())),
        rounds=chosen.get("rounds"),
        threshold=chosen.get("threshold"),
        story=chosen.get("story", ""),
        title=chosen.get("title", ""),
    )


def _parse_scope(chosen: Mapping[str, Any]) -> ScopeKind | None:
    chosen_kinds = {
        ScopeKind.ALL: chosen["everything"],
        ScopeKind.STAGED: chosen["staged"],
        ScopeKind.COMMIT: chosen["commit"],
    }
    kinds = [kind for kind, wanted in chosen_kinds.items() if wanted]
    if len(kinds) > 1:
        both = f"--{kinds[0]} and --{kinds[1]}"
        raise UsageError(f"{both} exclude each other", hint="choose one scope")
    return kinds[0] if kinds else None


def parse_flags(chosen: Mapping[str, Any]) -> dict[str, str]:
    """Return --set and the flags that stand for settings, as settings by name."""
    named = _parse_pairs(chosen.get("settings", ()))
    if chosen.get("max_time"):
        named["limits.time"] = f"{_parse_seconds(chosen['max_time']):g}"
    if chosen.get("max_cost"):
        named["limits.dollars"] = f"{chosen['max_cost']:g}"
    named |= {name: chosen[name] for name in ("commits", "documents") if chosen.get(name)}
    if chosen.get("agents"):
        named["agents.use"] = ",".join(chosen["agents"])
    for name in _SELECTION:
        value = chosen.get(name)
        if value:
            text = ",".join(value) if isinstance(value, tuple) else str(value).lower()
            named[f"review.{name.replace('_', '-')}"] = text
    return named


def _parse_pairs(settings: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for setting in settings:
        key, found, value = setting.partition("=")
        if not found or not key.strip():
            hint = "for example --set analyzers.select=E,F"
            raise UsageError(f"--set {setting}: must be KEY=VALUE", hint=hint)
        pairs[key.strip()] = value
    return pairs


def _parse_seconds(text: str) -> float:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--max-time {text}: is no time", hint="for example 90, 90s, 15m or 2h")
    return float(match[1]) * _UNITS[match[2]]
