"""What a worker lets a run of another user do: its own settings are a floor.

The run's first event was written by the user who queued it, so nothing in it is trusted: settings
count as `worker_words` declares, and commands must be those that this worker has itself, or finds
in the base commit.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_IWGRP, S_IWOTH
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.analyzers.registry import ANALYZERS
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.git.checkout_files import check_folder
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.agents.logins import add_logins
from punchlist.app.session import Session, StartLimits
from punchlist.app.start.allowance import survey_code
from punchlist.app.start.prepare import check_settings, find_checks, repository_settings
from punchlist.errors import SettingsError, UsageError
from punchlist.model.checks.check import Check
from punchlist.model.ledger.events import Started
from punchlist.settings import (
    REPOSITORY_FILE,
    Layer,
    LoadedSettings,
    Settings,
    TrackSettings,
    decode_settings,
    encode_settings,
    load_settings,
    merge_layers,
    parse_settings,
    user_file,
)
from punchlist.worker_words import ANY_NAME, Word, find_named_tables, find_table, find_word

_NOTHING: tuple[object, ...] = (None, "", (), {})
_QUIET = frozenset({Word.WORKER, Word.COMMON, Word.EITHER})
"""Of these a run that says nothing is not told what the worker says."""

_STRICTER: Mapping[Word, Callable[[Any, Any], Any]] = {
    Word.WORKER: lambda run, own: own,
    Word.EITHER: lambda run, own: run or own,
    Word.BOTH: lambda run, own: run and own,
    Word.COMMON: lambda run, own: tuple(each for each in run if each in own) if run else own,
    Word.LEAST: lambda run, own: min(run, own) if run and own else run or own,
}
"""By word, what counts of the run's value and of the worker's."""
_SCHEDULED = frozenset({Word.RUN, Word.EITHER, Word.BOTH, Word.LEAST})
_FIELDS = ("name", "kind", "junit", "timeout")


class _Offers(NamedTuple):
    """What this worker has for a run: its own settings, those of the base commit alone, and both
    together.
    """

    own: Settings
    base: Settings
    both: Settings


class _Refused(Exception):
    """A run wants what this worker does not let it have."""


async def lay_floor(session: Session, started: Started) -> StartLimits:
    """Return how the worker whose session this is drives the run. Raise RepositoryError."""
    own = session.settings()
    try:
        _require_source(own.settings.fleet.sources, session.source)
        run = decode_settings(started.settings)
        workshop = await session.workshop(fresh=False)
        offers = await _find_offers(session, workshop, started, own)
        overrides: list[str] = []
        merged = _Merge(offers, overrides.append).merge(run.settings, _list_agents(started))
        started = replace(started, settings=encode_settings(replace(run, settings=merged)))
        check_folder(session.required_checkout.root, started.documents_folder)
        await _require_checks(workshop, started, offers)
        started = await _survey_again(workshop, started, merged.analyzers, own)
    except _Refused as error:
        return StartLimits(started, refused=str(error))
    except msgspec.MsgspecError as error:
        why = f"its settings cannot be read: {error} (hint: queue it again with this version)"
        return StartLimits(started, refused=why)
    except (SettingsError, UsageError) as error:
        return StartLimits(started, refused=f"{error} (hint: {error.hint or 'queue it again'})")
    return StartLimits(started, tuple(overrides))


def require_offered(settings: Mapping[str, str], flags: Mapping[str, str]) -> None:
    """Raise SettingsError for a setting of a schedule that is not the schedule's to make, unless
    the worker with these flags has the same: it may name a program, a path, a host or a secret.
    """
    own = load_settings(None, flags).settings
    for name, value in settings.items():
        word = find_word(generalize(name))
        if word in _SCHEDULED or own.fleet.trust == "queue":
            continue
        if load_settings(None, {**flags, name: value}).settings != own:
            raise SettingsError(
                f"{name}: on a worker {word.value} counts, and it has another one",
                hint=f"set it in {user_file()} of the worker",
            )


def generalize(name: str) -> str:
    """Return the name of a setting as it is declared, with `*` for a name of the user's."""
    table, _, rest = name.partition(".")
    _, _, field = rest.partition(".")
    return f"{table}.{ANY_NAME}.{field.partition('.')[0]}" if table in ("agent", "role") else name


def _list_agents(started: Started) -> frozenset[str]:
    return frozenset(name for players in started.crew.values() for name in players)


def _require_source(patterns: tuple[str, ...], source: str) -> None:
    if patterns and not any(fnmatchcase(source, pattern) for pattern in patterns):
        raise _Refused(
            f"this worker does not fetch from {source} (hint: add it to fleet.sources of the"
            " worker, or queue the run from a clone of one that it names)"
        )


async def _find_offers(
    session: Session, workshop: Workshop, started: Started, own: LoadedSettings
) -> _Offers:
    """Return what this worker has for a run. The base commit's own settings offer only what a
    repository may set at all.
    """
    mine, _ = add_logins(own, _list_agents(started), session.home)
    if own.settings.fleet.trust == "own":
        return _Offers(mine.settings, mine.settings, mine.settings)
    text = await repository_settings(workshop, started.change.base)
    if text is None:
        return _Offers(mine.settings, Settings(), mine.settings)
    both = load_settings(text, session.flags)
    check_settings(both)
    base = merge_layers([Layer(REPOSITORY_FILE, parse_settings(text, REPOSITORY_FILE))])
    return _Offers(mine.settings, base.settings, both.settings)


class _Merge:
    """Settles each setting by the word that is declared for it."""

    def __init__(self, offers: _Offers, tell: Callable[[str], None]) -> None:
        self._offers = offers
        self._tell = tell

    def merge(self, run: Settings, agents: Iterable[str]) -> Settings:
        """Return the settings that count; of agents only those that the run asks."""
        named = {name: run.agent.get(name, AgentSettings()) for name in sorted(agents)}
        used = replace(_drop_unused(run), agent=named)
        merged = self._merge_table(used, self._offers, "")
        return cast("Settings", merged)

    def _merge_table(self, run: Struct, offers: Sequence[Struct], path: str) -> Struct:
        """Return the struct with each of its settings settled."""
        chosen: dict[str, Any] = {}
        for field in msgspec.structs.fields(run):
            name = f"{path}{field.encode_name}"
            mine, *theirs = (getattr(each, field.name) for each in (run, *offers))
            if find_table(field.type):
                chosen[field.name] = self._merge_table(mine, theirs, f"{name}.")
            elif kind := find_named_tables(field.type):
                chosen[field.name] = {
                    key: self._merge_table(
                        each, [known.get(key, kind()) for known in theirs], f"{name}.{key}."
                    )
                    for key, each in mine.items()
                }
            else:
                chosen[field.name] = self._settle(name, field.default, mine, theirs)
        return replace(run, **chosen)

    def _settle(self, name: str, default: Any, run: Any, offers: Sequence[Any]) -> Any:
        word, own = find_word(generalize(name)), offers[0]
        match word:
            case Word.RUN:
                return run
            case Word.MACHINE:
                return own
            case Word.DEFINED:
                return own if _is_unset(run, default) else self._require(name, run, [own])
            case Word.OFFERED:
                return run if _is_unset(run, default) else self._require(name, run, offers)
            case _:
                settled = _STRICTER[word](run, own)
        if settled != run and not (_is_unset(run, default) and word in _QUIET):
            self._tell(f"{name} is {_show(name, settled)} on this worker, not {_show(name, run)}")
        return settled

    def _require(self, name: str, run: Any, offers: Sequence[Any]) -> Any:
        """Return what this worker has of the run's value. Raise _Refused if it has another one."""
        found = next((each for each in offers if _is_same(run, each)), None)
        if found is not None:
            return found
        own = self._offers.own
        if own.fleet.trust == "queue":
            return run
        raise _Refused(
            f"{name}: the run was queued with {_show(name, run)}, and this worker's own settings"
            f" have {_show(name, offers[0])} (hint: set the same in {user_file()} of the worker, or"
            " start it with --set fleet.trust=queue if all who queue runs may use its account)"
        )


def _drop_unused(run: Settings) -> Settings:
    """Return the settings without those of a forge and of a bucket that the run does not use."""
    track, keep = run.track, run.keep
    if track.to == TrackSettings().to:
        track = TrackSettings(folder=track.folder, labels=track.labels)
    if not keep.to:
        keep = replace(keep, endpoint="")
    return replace(run, track=track, keep=keep)


def _is_unset(run: Any, default: Any) -> bool:
    return bool(run == default) or (default is msgspec.NODEFAULT and not run)


def _is_same(run: Any, own: Any) -> bool:
    """Return whether the run's value is the worker's. Of variables a run has the names alone."""
    if isinstance(run, dict) and isinstance(own, dict) and run.keys() == own.keys():
        return all(value in ("", own[key]) for key, value in run.items())
    return bool(run == own)


def _show(name: str, value: Any) -> str:
    if isinstance(value, dict) and name.endswith(".env"):
        return ", ".join(sorted(value)) or "nothing"
    return "nothing" if value in _NOTHING else msgspec.json.encode(value).decode()


async def _require_checks(workshop: Workshop, started: Started, offers: _Offers) -> None:
    """Raise _Refused if a check of the run is neither in the worker's own settings nor found in the
    base commit: the list was written by the user who queued the run.
    """
    own = offers.own
    if not (started.checks and started.checks_allowed) or own.fleet.trust == "queue":
        return
    known = own.build_checks("own")
    if own.fleet.trust == "repositories":
        base = replace(offers.base, detect_gates=True)
        change = started.change
        found = await find_checks(workshop, change.base, LoadedSettings(base, {}), head=change.head)
        known += found.checks
    for check in started.checks:
        if not any(_is_found(check, each) for each in known):
            raise _Refused(
                f"check {check.name}: neither this worker's own settings nor the base commit have"
                f" the command {_show('', check.command)} (hint: put it below [[checks]] in"
                f" {user_file()} of the worker, or into .punchlist.toml of the repository, or queue"
                " the run with --no-checks)"
            )


def _is_found(check: Check, known: Check) -> bool:
    """Return whether a check is one that this worker knows; its program may be at another place, if
    only the worker's own user or root could have put it there.
    """
    same = all(
        getattr(check, name) == getattr(known, name)
        for name in ("name", "kind", "junit", "timeout")
    )
    pairs = ((check.command, known.command), (check.repair, known.repair))
    return same and all(_is_same_command(mine, theirs) for mine, theirs in pairs)


def _is_same_command(command: tuple[str, ...], known: tuple[str, ...]) -> bool:
    if command == known or not (command and known):
        return command == known
    program, other = Path(command[0]), Path(known[0])
    alike = program.name.rstrip("0123456789.") == other.name.rstrip("0123456789.")
    return alike and command[1:] == known[1:] and _is_ours(program)


def _is_ours(program: Path) -> bool:
    """Return whether only root or this process's user can change a program, or it is not there."""
    if not program.is_absolute() or ".." in program.parts:
        return False
    try:
        places = [program.stat(), program.parent.stat()]
    except FileNotFoundError:
        return True
    except OSError:
        return False
    users = (0, os.geteuid())
    return all(each.st_uid in users and not each.st_mode & (S_IWGRP | S_IWOTH) for each in places)


async def _survey_again(
    workshop: Workshop, started: Started, analyzers: AnalyzerSettings, own: LoadedSettings
) -> Started:
    """Return the start with what analyzers load as this worker finds it in the base commit; code is
    loaded if the run's user allowed exactly that.
    """
    tools = (*started.reviewers, *started.judges)
    agreed = {each.fingerprint for each in started.configurations if each.allowed}
    if own.settings.fleet.trust == "own":
        agreed = set()
    names = tuple(_known_analyzers(tools, analyzers))
    found = await survey_code(workshop, started.change.base, analyzers, names, agreed.__contains__)
    return replace(started, configurations=found)


def _known_analyzers(names: Iterable[str], analyzers: AnalyzerSettings) -> Iterator[str]:
    """Yield those that this version knows; the others report that they are not known."""
    own = {tool.name for tool in analyzers.custom}
    return (name for name in names if name in ANALYZERS or name in own)
