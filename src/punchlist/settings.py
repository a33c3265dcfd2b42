"""Layered settings (default < user < repository < environment < flag) with their origins."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_origin

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from punchlist.adapters.agents.settings import AgentSettings, AgentsSettings, RoleSettings
from punchlist.adapters.analyzers.registry import steering_files
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.sandbox.settings import SandboxSettings
from punchlist.errors import SettingsError
from punchlist.model.checks.check import Check, CheckKind
from punchlist.model.checks.protected import CONFIGURATION, Protected
from punchlist.model.finding.guarded_text import Unparsable, parse_json, parse_toml
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.reading_limits import ReadingLimits
from punchlist.model.finding.selection import Selection
from punchlist.model.item.batch import SUBJECT_FIELDS, CommitGrouping
from punchlist.views.pulls.conversation import FixOffer, ResolveRule

REPOSITORY_FILE = ".punchlist.toml"
_PREFIX = "PUNCHLIST_"
_RESERVED = {"PUNCHLIST_HOME", "PUNCHLIST_CONFIG", "PUNCHLIST_CHILD"}
_BRACED = late_pattern(r"\{[^{}]*\}?|\}")
READING = ReadingLimits()
_LISTED = "`punchlist doctor --settings` lists them"

Tables = dict[str, Any]


class CheckSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A check of the user's own: `command` is a list, never a shell line."""

    name: str
    command: tuple[str, ...]
    kind: CheckKind = CheckKind.PLAIN
    """How much its runner tells: per test, per test in a file it writes, or only an exit code;
    `gate` and `doctest` must stay green and prove nothing.
    """
    timeout: float = 1800.0
    """Seconds that one run of it may take."""
    junit: str = ""
    """For kind `junit`: the file the runner writes, relative to the root."""
    repair: tuple[str, ...] = ()
    """For a formatter of kind `gate`: the command that formats the files."""


class LimitSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`time` (seconds) and `dollars` limit a whole run, 0 for no limit; `width` is how many actions
    run in parallel.
    """

    time: float = 0
    dollars: float = 0
    daily: float = 0
    """Dollars that all runs of the store may cost on one day (UTC), 0 for no limit; a repository
    cannot set it.
    """
    monthly: float = 0
    """The same for one calendar month (UTC). At this limit, and at the two below, the analyzers
    review alone.
    """
    repository: float = 0
    """Dollars that all runs of one repository may cost in one calendar month (UTC)."""
    pull_request: float = 0
    """Dollars that all runs of one pull request may cost together."""
    width: int = 2
    spread: Annotated[int, Meta(ge=0)] = 0
    """How many actions of one run other workers of a fleet may do at once, besides the `width` of
    the worker that drives it: agents' calls, and the examination of single fixes. Only runs that
    were queued are spread. A repository cannot set it.
    """
    files: Annotated[int, Meta(ge=1000)] = READING.files
    """How many files a folder that is looked through may have. This limit and those below are met
    by no honest project; what is over one is left out or refused, and named. A repository cannot
    set them.
    """
    depth: Annotated[int, Meta(ge=20, le=1000)] = READING.depth
    """How many folders deep a file may be; a deeper one is not looked at."""
    file_size: Annotated[int, Meta(ge=1)] = READING.file_size
    """How many MB a file may have that is read as text."""
    nesting: Annotated[int, Meta(ge=20, le=250)] = READING.nesting
    """How deep brackets, tables and lists may be nested in a file that is parsed."""
    report_size: Annotated[int, Meta(ge=1)] = READING.report_size
    """How many MB a file of findings may have."""

    @property
    def reading(self) -> ReadingLimits:
        names = ReadingLimits.__struct_fields__
        return ReadingLimits(**{name: getattr(self, name) for name in names})


class TrackSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Where unresolved items are filed: as files in `folder` (empty: the state folder), or as
    issues on GitHub, GitLab, Gitea or Forgejo.
    """

    folder: str = ""
    to: str = "files"
    """`files`, `github`, `gitlab`, `gitea` or `forgejo`."""
    forge: str = ""
    """Where pull requests are: `github`, `gitlab`, `gitea` or `forgejo`. Default: what the address
    of the pull request, `to`, `api` or the remote `origin` shows.
    """
    repository: str = ""
    """OWNER/NAME, on GitLab GROUP/NAME. Default: where the remote `origin` points."""
    api: str = ""
    """The address of the API. Default: that of github.com, gitlab.com, gitea.com or codeberg.org.
    For a server of your own: `https://HOST/api/v3` (GitHub), `https://HOST/api/v4` (GitLab),
    `https://HOST/api/v1` (Gitea, Forgejo).
    """
    token: str = ""
    """The environment variable that holds the token. Default: `GITHUB_TOKEN`, `GITLAB_TOKEN`,
    `GITEA_TOKEN` or `FORGEJO_TOKEN`; where it is empty, `gh` or `glab` is asked for the first two.
    """
    app: int | str = ""
    """The id or client id of a GitHub App: punchlist makes its own tokens with the App's private
    key, on GitHub in the place of `token`.
    """
    app_key_file: str = ""
    """The file with the private key of the App, in PEM form; only you may be able to read it."""
    app_key: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_]{0,100}$")] = ""
    """Where there is no such file: the environment variable that holds the private key itself.
    Default: `GITHUB_APP_KEY`.
    """
    labels: tuple[str, ...] = ("tech-debt",)


class PullSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What `punchlist pr` does on a pull request. Repository, address and token are those of
    `track`.
    """

    resolve: ResolveRule = ResolveRule.OWN
    """Whose threads are resolved once the fix is in the pull request and proven: punchlist's `own`,
    those of `bots` as well, or `all`. Threads of others always get a reply.
    """
    fixes: FixOffer = FixOffer.SUGGEST
    """Where proven fixes are offered: `suggest` shows them in their threads; `stack` opens a pull
    request from `punchlist/pr-NUMBER` to the branch as well, which needs a right to push.
    """
    push_for: tuple[str, ...] = ()
    """Authors to whose pull requests proven fixes are pushed without a word: bots that take no
    suggestions, such as `dependabot[bot]`.
    """
    comments: Annotated[int, Meta(ge=0, le=100)] = 20
    """How many open threads of its own it has at most; the rest is in the summary."""
    pause: Annotated[float, Meta(ge=0)] = 1
    """Seconds between two requests that change something; GitHub asks for one."""


class KeepSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Where the results of a run are copied when it ends: reports, plans, transcripts, evidence."""

    to: str = ""
    """`s3://BUCKET/PREFIX` (needs the extra `s3`), or a folder. Default: nowhere else than the
    state folder.
    """
    days: Annotated[float, Meta(ge=0)] = 10
    """How long they are kept there; `punchlist clean` and the server remove what is older."""
    local: bool = True
    """Whether plans, transcripts and evidence stay in the state folder, too, once they are kept."""
    endpoint: str = ""
    """The address of an S3 server that is not Amazon's. Region and credentials come from the
    variables AWS_*.
    """


class SetupSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What `punchlist setup` may reach; a repository cannot set it."""

    hosts: tuple[str, ...] = ()
    """Hosts besides the package registries that your own settings for pip and uv name (PyPI if they
    name none), as in `agent.NAME.hosts`.
    """


class ServeSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Limits of `punchlist serve`, in seconds and counts."""

    headers: Annotated[float, Meta(gt=0)] = 10
    """In how many seconds a request's headers must have come."""
    body: Annotated[float, Meta(gt=0)] = 60
    """In how many seconds its body must have come after them."""
    idle: Annotated[float, Meta(gt=0)] = 15
    """How long a connection may wait for its next request."""
    unread: Annotated[float, Meta(gt=0)] = 30
    """How long a client may leave what it was sent unread; a stream can be resumed."""
    connections: Annotated[int, Meta(ge=8)] = 2000
    """How many there are at once; fewer where the system allows fewer open files."""
    waiting: Annotated[int, Meta(ge=4)] = 1000
    """How many of them may be without a request; the oldest is closed then."""
    runs: Annotated[int, Meta(ge=1)] = 16
    """How many runs are under way at once, also of `punchlist mcp`; more are refused."""


class WebhookSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Notices of forges that `punchlist serve` takes at `/hooks/NAME`: for each forge the
    environment variable that holds its secret, of 8 characters at least. Default: none is taken.
    """

    github: str = ""
    gitlab: str = ""
    gitea: str = ""


class FleetSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Of a fleet; a repository cannot set them."""

    lease: Annotated[float, Meta(ge=1)] = 15
    """After how many seconds without a sign of life a worker or server is dead, and others take its
    runs and notices.
    """
    per_repository: Annotated[int, Meta(ge=0)] = 4
    """How many runs of one repository are under way at once in all workers; 0: any number."""
    per_agent: Annotated[int, Meta(ge=0)] = 0
    """How many runs with one agent are under way at once in all workers; 0: any number."""
    mirrors: Annotated[int, Meta(ge=1)] = 32
    """How many clones a worker keeps; those used least are removed."""
    trust: Literal["own", "repositories", "queue"] = "repositories"
    """Whose commands a worker runs: only those in its `own` settings; those of the `repositories`
    as well, which are the checks and analyzers that the base commit names; or whatever the `queue`
    has, so that every user who may queue runs can use what the worker's user can.
    """
    sources: tuple[str, ...] = ()
    """Patterns of the repositories that a worker fetches and pushes to, such as
    `https://forge.example.org/team/*`. Default: all.
    """


class ProtectSettings(Protected, frozen=True):
    """Patterns: with a slash they match below any folder, without one the file's name. `**` crosses
    folders. A slash in front holds a pattern to the root.
    """

    configuration: tuple[str, ...] = tuple(dict.fromkeys((*CONFIGURATION, *steering_files())))


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    workflow: str = "proven"
    """A built-in workflow by its name, or a file."""
    analyzers: AnalyzerSettings = AnalyzerSettings()
    review: Selection = Selection()
    checks: tuple[CheckSettings, ...] = ()
    """What must stay green; given here, nothing is looked for."""
    coverage: Annotated[float, Meta(ge=0, le=100)] = 0
    """The least test coverage in per cent, measured with coverage.py over the checks; 0 demands
    none. While it is less, or cannot be measured, no fix lands and no run is clean. Where the
    checks are no list, `checks.coverage` is the same.
    """
    detect_checks: bool = True
    """Whether checks are looked for where none are given."""
    detect_gates: bool = True
    """Whether linters, formatters and doctests that are green on the base must stay green."""
    commits: CommitGrouping = CommitGrouping.AUTO
    """Which fixes share a commit: `rule` (all of one rule), `item` (each alone), `round` (all of
    one round of the loop), `one` (all), `auto` (tools' fixes by rule, each of an agent's alone), or
    `made` (as they were proven). Except with `made`, fixes of the same lines always share one.
    """
    commit_subject: str = ""
    """The first line of commit messages, for example `fix: address code review round {round} -
    {title}`; also {story} and {items}. Default: punchlist's own.
    """
    rounds: Annotated[int, Meta(ge=0, le=100)] | None = None
    """How many rounds of fixing a workflow has at most, 1 fix and its re-fixes; 0: nothing is
    fixed. Default: as the workflow says (`challenged` 2).
    """
    threshold: Annotated[int, Meta(ge=1, le=100)] | None = None
    """The least score, 1 to 100, with which a challenger approves a fix. Default: as the workflow
    says (90).
    """
    documents: str = ""
    """A folder of the checkout, from its root, where each round's findings document is written as
    well, for example `docs/progress`. It is never committed.
    """
    limits: LimitSettings = LimitSettings()
    protect: ProtectSettings = ProtectSettings()
    setup: SetupSettings = SetupSettings()
    track: TrackSettings = TrackSettings()
    pr: PullSettings = PullSettings()
    keep: KeepSettings = KeepSettings()
    store: str = ""
    """Where ledger and leases are: `postgresql://USER@HOST/NAME` for a fleet (needs the extra
    `cluster`). Default: SQLite in the state folder. A repository cannot set it.
    """
    fleet: FleetSettings = FleetSettings()
    traces: str = ""
    """The address of a collector of OpenTelemetry traces (OTLP over HTTP), `http://127.0.0.1:4318`
    for example; needs the extra `telemetry`. A repository cannot set it.
    """
    objects: str = ""
    """Where transcripts, answers, evidence and reports of runs are, for a fleet:
    `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX`, or a folder that all
    machines have (needs the extra `cluster`). Credentials come from the variables of each machine.
    Default: the state folder. A repository cannot set it.
    """
    objects_cache: Annotated[int, Meta(ge=0)] = 1024
    """How many MB of copies of such objects the state folder holds at most."""
    serve: ServeSettings = ServeSettings()
    webhooks: WebhookSettings = WebhookSettings()
    sandbox: SandboxSettings = SandboxSettings()
    agents: AgentsSettings = AgentsSettings()
    agent: dict[str, AgentSettings] = {}
    """How single agents are started, by name."""
    role: dict[str, RoleSettings] = {}
    """Who plays single roles: unified, spec, technical, adversarial, clarifier, planner, fixer,
    challenger, reproducer.
    """

    @property
    def protected(self) -> Protected:
        """`protect`, and what steers the user's own tools."""
        own = (pattern for tool in self.analyzers.custom for pattern in tool.steering)
        return replace(self.protect, configuration=(*self.protect.configuration, *own))

    def build_checks(self, origin: str) -> tuple[Check, ...]:
        return tuple(Check(**asdict(check), origin=origin) for check in self.checks)


class LoadedSettings(Struct, frozen=True):
    """`origins` says where each value that is not the default was set."""

    settings: Settings
    origins: dict[str, str]


class Layer(Struct, frozen=True):
    origin: str
    values: Tables


def home_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of ledgers, work trees and reports: PUNCHLIST_HOME, else the XDG state
    folder.
    """
    env = os.environ if environment is None else environment
    if own := env.get("PUNCHLIST_HOME"):
        return Path(own).expanduser().absolute()
    return _xdg_folder(env, "XDG_STATE_HOME", Path(".local/state")) / "punchlist"


def run_folder(home: Path, run_id: str) -> Path:
    return home / "runs" / run_id


def user_file(environment: Mapping[str, str] | None = None) -> Path:
    env = os.environ if environment is None else environment
    if own := env.get("PUNCHLIST_CONFIG"):
        return Path(own).expanduser().absolute()
    return _xdg_folder(env, "XDG_CONFIG_HOME", Path(".config")) / "punchlist" / "settings.toml"


def _xdg_folder(env: Mapping[str, str], name: str, usual: Path) -> Path:
    """Return the folder in the variable; a relative path is ignored, as the XDG standard says."""
    named = Path(env.get(name, ""))
    return named if named.is_absolute() else Path.home() / usual


def load_settings(
    repository: str | None,
    flags: Mapping[str, str],
    environment: Mapping[str, str] | None = None,
    folders: Sequence[Layer] = (),
) -> LoadedSettings:
    """Merge all layers. `repository` is the text of the repository's file at the base commit, or
    None if not allowed; `folders` are layers above it.
    """
    env = os.environ if environment is None else environment
    layers = list(_user_layer(env))
    if repository is not None:
        layers.append(Layer(REPOSITORY_FILE, parse_settings(repository, REPOSITORY_FILE)))
    return merge_layers([*layers, *folders, *_environment_layers(env), *_flag_layers(flags)])


def merge_layers(layers: list[Layer]) -> LoadedSettings:
    merged: Tables = {}
    origins: dict[str, str] = {}
    for layer in layers:
        _merge_tables(merged, _lift_coverage(layer.values), layer.origin, origins)
    try:
        loaded = LoadedSettings(msgspec.convert(merged, Settings, strict=False), origins)
    except msgspec.ValidationError as error:
        raise _build_error(error, origins) from error
    _check_unique_names(loaded)
    _check_subject(loaded)
    return loaded


def _check_subject(loaded: LoadedSettings) -> None:
    """Raise SettingsError if the pattern of commit messages names something unknown."""
    pattern = loaded.settings.commit_subject
    unknown = [name for name in _BRACED.findall(pattern) if name[1:-1] not in SUBJECT_FIELDS]
    if unknown or not pattern.isprintable():
        where, fields = loaded.origins["commit-subject"], ", ".join(sorted(SUBJECT_FIELDS))
        what = f"{unknown[0]} stands for nothing" if unknown else "it must be one line"
        known = f"in braces there can be {fields}"
        raise SettingsError(f"{where}: commit-subject: {what}", hint=known)


def _lift_coverage(values: Tables) -> Tables:
    """Return the values with `checks.coverage` as `coverage`: `checks` itself is a list."""
    checks = values.get("checks")
    if not isinstance(checks, dict) or "coverage" not in checks:
        return values
    others = {key: value for key, value in checks.items() if key != "coverage"}
    rest = {key: value for key, value in values.items() if key != "checks"}
    return {**rest, **({"checks": others} if others else {}), "coverage": checks["coverage"]}


def _check_unique_names(loaded: LoadedSettings) -> None:
    """Raise SettingsError if two checks have the same name."""
    first: dict[str, int] = {}
    for place, check in enumerate(loaded.settings.checks):
        before = first.setdefault(check.name, place)
        if before != place:
            pair = (loaded.settings.checks[before], check)
            commands = " and ".join(f"`{' '.join(each.command)}`" for each in pair)
            raise SettingsError(
                f"{loaded.origins['checks']}: checks[{before}] and checks[{place}] are both called"
                f" {check.name!r}: {commands}",
                hint="give each check a name of its own",
            )


def encode_settings(loaded: LoadedSettings) -> str:
    """Return the settings as the JSON that a run stores: of the variables of agents only the names,
    because their values may be secrets; those in the repository's own file stay. Where the ledger,
    the objects and the collector are is not pinned: each machine has its own address, which may
    hold a password.
    """
    agents = {
        name: replace(agent, env=_blank_values(f"agent.{name}.env", agent.env, loaded.origins))
        for name, agent in loaded.settings.agent.items()
    }
    places = replace(loaded.settings, agent=agents, store="", objects="", traces="")
    pinned = replace(loaded, settings=places)
    return msgspec.json.encode(pinned).decode()


def _blank_values(path: str, env: Mapping[str, str], origins: Mapping[str, str]) -> dict[str, str]:
    shared = {name for name in env if origins.get(f"{path}.{name}") == REPOSITORY_FILE}
    return {name: value if name in shared else "" for name, value in env.items()}


def restore_values(
    pinned: LoadedSettings, now: LoadedSettings, needed: Collection[str]
) -> LoadedSettings:
    """Return a run's settings with the values that its agents' variables have now. Raise
    SettingsError if one of a `needed` agent is not set any more. A ledger of old has the values
    itself.
    """
    agents = {}
    for name, agent in pinned.settings.agent.items():
        own = now.settings.agent.get(name, AgentSettings()).env
        lost = sorted(key for key, value in agent.env.items() if not value and key not in own)
        if lost and name in needed:
            raise SettingsError(
                f"agent.{name}.env.{lost[0]}: the run was started with it, and it is not set now",
                hint=f"set {lost[0]} below [agent.{name}.env] in {user_file()}",
            )
        env = {key: value or own.get(key, "") for key, value in agent.env.items()}
        agents[name] = replace(agent, env=env)
    return replace(pinned, settings=replace(pinned.settings, agent=agents))


def decode_settings(text: str) -> LoadedSettings:
    return parse_json(text, LoadedSettings)


def _merge_tables(
    below: Tables, above: Tables, origin: str, origins: dict[str, str], path: str = ""
) -> None:
    for key, value in above.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, dict) and isinstance(below.get(key, {}), dict):
            _merge_tables(below.setdefault(key, {}), value, origin, origins, name)
        else:
            below[key] = value
            origins[name] = origin


def _user_layer(env: Mapping[str, str]) -> Iterator[Layer]:
    path = user_file(env)
    try:
        yield Layer(str(path), parse_settings(path.read_text("utf-8"), str(path)))
    except FileNotFoundError:
        if "PUNCHLIST_CONFIG" in env:
            raise SettingsError(
                f"{path}: no such file", hint="PUNCHLIST_CONFIG must name a settings file"
            ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from error


def parse_settings(text: str, origin: str) -> Tables:
    """Parse a settings file. Raise SettingsError, which begins with `origin`."""
    try:
        return parse_toml(text)
    except Unparsable as error:
        raise SettingsError(
            f"{origin}: not TOML: {error}",
            hint="`punchlist doctor --settings` lists what can be in it",
        ) from error


def _environment_layers(env: Mapping[str, str]) -> Iterator[Layer]:
    """PUNCHLIST_LIMITS__TIME=60 is limits.time."""
    for name in sorted(env):
        if name.startswith(_PREFIX) and name not in _RESERVED:
            path = name.removeprefix(_PREFIX).lower().replace("__", ".").replace("_", "-")
            yield Layer(f"environment {name}", _nest_value(path, env[name], name))


def _flag_layers(flags: Mapping[str, str]) -> Iterator[Layer]:
    for path, text in flags.items():
        yield Layer(f"--set {path}", _nest_value(path, text, f"--set {path}"))


def _nest_value(path: str, text: str, origin: str) -> Tables:
    value: Any = _parse_value(path, text, origin)
    for key in reversed(path.split(".")):
        value = {key: value}
    return value  # type: ignore[no-any-return]  # a path has at least one key


def _parse_value(path: str, text: str, origin: str) -> object:
    """Return the text as the setting's type needs it; lists are split at commas."""
    kind: Any = Settings
    for key in path.split("."):
        if not _is_struct(kind):
            kind = _value_type(kind)
            continue
        known = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        if key not in known:
            message = f"{origin}: no setting is called {path!r}{_suggest_name(path)}"
            raise SettingsError(message, hint=_LISTED)
        kind = known[key]
    if not _is_list(kind, text):
        return text
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _is_list(kind: Any, text: str) -> bool:
    options = [kind, *getattr(kind, "__args__", ())] if get_origin(kind) is not tuple else [kind]
    return any(get_origin(option) is tuple for option in options) and text != "auto"


def _value_type(kind: Any) -> Any:
    return kind.__args__[-1] if get_origin(kind) is dict else str


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _build_error(error: msgspec.ValidationError, origins: Mapping[str, str]) -> SettingsError:
    message, _, path = str(error).partition(" - at `$")
    where = path.strip("`.")
    top = where.split("[", maxsplit=1)[0]
    origin = next(
        (origins[name] for name in sorted(origins) if name.startswith(top) or top.startswith(name)),
        "settings",
    )
    field = message.split("`")[1] if "unknown field" in message and "`" in message else ""
    name = f"{where}.{field}".strip(".") if field else where
    suggestion = _suggest_name(name) if field else ""
    return SettingsError(f"{origin}: {name or 'settings'}: {message}{suggestion}", hint=_LISTED)


def list_names(kind: type[Struct] = Settings, path: str = "") -> Iterator[str]:
    """Yield the full name of every setting."""
    for field in msgspec.structs.fields(kind):
        name = f"{path}{field.encode_name}"
        if _is_struct(field.type):
            yield from list_names(field.type, f"{name}.")
        else:
            yield name


def _suggest_name(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(list_names()), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""
