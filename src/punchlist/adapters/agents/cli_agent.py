"""Any agent that is a command: asked on its standard input, heard line by line, judged by its own
last word.

To add one, write a dialect and name it in `table.AGENTS`. A dialect is two pure functions and a
few facts:

    class Parrot:
        program = "parrot"                      # its usual name; settings may name another
        keys = ("PARROT_API_KEY",)              # variables it gets from the user's environment
        # fields of Usage that count a session from its beginning
        cumulative = ()
        def call(self, ask: Ask, desk: Desk) -> Call:
            return Call(arguments=("--json",), env={"PARROT_HOME": str(desk.home)},
            stdin=ask.prompt)
        def piece(self, event: Event) -> str:   # what a listener is told while it works; often ""
            return event.text("message")
        def told(self, ran: Ran, ask: Ask) -> Told:
            return Told(text=...) or Told(failed="why", trouble=troubles.of_error(message))

`told` reads whatever there is, also of a child that was ended half-way: a session, what was
opened and spent are worth having. Without a result event it says `troubles.no_result(ran)`;
silence, time-outs, signals and missing programs are dealt with here.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.home import Place, bring_login, walls
from punchlist.adapters.agents.json_lines import Event, Lines, event
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.process.run import (
    Ran,
    Voice,
    Watch,
    base_environment,
    named_environment,
    run,
    which,
)
from punchlist.adapters.process.sandbox import Walls, available
from punchlist.adapters.store.atomic_write import write_whole
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Ask, Hear, Reply, Trouble
from punchlist.ports.artifacts import Artifacts

OUTPUT_LIMIT = 256 << 20
GRACE = 2.0
"""Agents that heed the polite signal are gone within half a second, with their session saved; the
others never go, and what any of them leaves behind is found and killed anyway. So there is nothing
to gain from waiting longer.
"""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 6
_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")
_MILLION = 1_000_000
_URL = "_URL"


class Desk(Struct, frozen=True, kw_only=True):
    """Where one call is made: the agent's own folders, and what the user set for it."""

    home: Path
    tmp: Path
    settings: AgentSettings
    key: str = ""
    """The name of the key variable that is set, for agents that have to be told."""
    base_url: str = ""
    """Where the model is, for agents that read that from no variable; it has been one all the same,
    such as OPENAI_BASE_URL.
    """


class Client(Protocol):
    """Whoever goes on talking with a program that is asked in more than one message."""

    def begin(self, voice: Voice) -> None: ...

    def hear(self, piece: bytes) -> None: ...


class Call(Struct, frozen=True, kw_only=True):
    """One question in the words of one program. `files` are written below its home first, by
    relative name.
    """

    arguments: tuple[str, ...]
    stdin: str
    env: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    cwd: Path | None = None
    """Where it stands, if that is not the folder it is asked about."""
    client: Client | None = None
    hidden: tuple[str, ...] = ()
    """Names in the folder that it must not see, because it would do what is written there and no
    flag prevents that.

    The walls hide them; where there are none, and one of the names is there, the call is not made.
    """


class Told(Struct, frozen=True, kw_only=True):
    """What a dialect read from the output. `failed` unless there was a result event that says that
    all is well.
    """

    text: str = ""
    session: str = ""
    usage: Usage = Usage()
    failed: str = ""
    trouble: Trouble | None = None
    retry_after: float = 0
    opened: tuple[str, ...] = ()
    """As the agent named them: absolute, or relative to the folder."""


class Dialect(Protocol):
    """How one program is asked, and what it answers; see the module's text."""

    @property
    def program(self) -> str: ...

    @property
    def keys(self) -> tuple[str, ...]: ...

    @property
    def cumulative(self) -> tuple[str, ...]: ...

    def call(self, ask: Ask, desk: Desk) -> Call: ...

    def piece(self, event: Event) -> str: ...

    def told(self, ran: Ran, ask: Ask) -> Told: ...


@dataclass(frozen=True)
class Seat:
    """What every agent is made from: its name, its settings with the defaults filled in, where it
    lives, where evidence goes.
    """

    name: str
    settings: AgentSettings
    place: Place
    artifacts: Artifacts


class CliAgent:
    """The Agent of every dialect."""

    def __init__(self, dialect: Dialect, seat: Seat) -> None:
        self._dialect = dialect
        self._seat = seat

    @property
    def name(self) -> str:
        return self._seat.name

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        keys = named_environment((*self._dialect.keys, *self._seat.settings.keys))
        masked = _masking(
            _secrets_in({**self._seat.settings.env, **keys}, self._seat.settings.keys)
        )
        desk = self._desk(keys)
        call = self._dialect.call(ask, desk)
        for name, content in call.files.items():
            write_whole(desk.home / name, content.encode())
        ran = await self._ran(ask, call, desk, keys, _listener(self._dialect, hear, masked))
        ran = replace(ran, stdout=masked(ran.stdout), stderr=masked(ran.stderr))
        return self._reply(ask, ran, _judged(ran, self._dialect.told(ran, ask)))

    def _desk(self, keys: Mapping[str, str]) -> Desk:
        place, name = self._seat.place, self._seat.name
        home = place.home(name)
        bring_login(self._seat.settings.login, place.user, home)
        given = {**self._seat.settings.env, **keys}
        key = next(
            (key for key in self._dialect.keys if key in given and not key.endswith(_URL)), ""
        )
        url = next(
            (given[key] for key in self._dialect.keys if key in given and key.endswith(_URL)), ""
        )
        return Desk(
            home=home, tmp=place.tmp(name), settings=self._seat.settings, key=key, base_url=url
        )

    async def _ran(
        self,
        ask: Ask,
        call: Call,
        desk: Desk,
        keys: Mapping[str, str],
        hear: Callable[[bytes], None],
    ) -> Ran:
        settings = self._seat.settings
        command = settings.command or (self._dialect.program,)
        program = which(command[0]) or command[0]
        environment = {
            **base_environment(),
            **call.env,
            **settings.env,
            **keys,
            "HOME": str(desk.home),
            "TMPDIR": str(desk.tmp),
        }
        line = [program, *command[1:], *call.arguments]
        around = self._walls(ask, call, [program, *command[1:], which("node") or ""])
        if not around and (trouble := _exposed(call, ask.folder)):
            return Ran(
                command=tuple(line),
                exit_code=None,
                stdout=b"",
                stderr=b"",
                seconds=0,
                trouble=trouble,
            )
        return await run(
            line,
            cwd=call.cwd or ask.folder,
            env=environment,
            timeout=settings.timeout,
            stdin=call.stdin.encode(errors="surrogateescape"),
            limit=OUTPUT_LIMIT,
            walls=around,
            watch=_watch(hear, call.client, settings.silence),
        )

    def _walls(self, ask: Ask, call: Call, programs: Sequence[str]) -> Walls | None:
        place = self._seat.place
        if not place.sandbox or available() != "bubblewrap":
            return None
        around = walls(place, self.name, ask.folder, programs, writes=ask.writes)
        named = [
            path.resolve() for name in call.hidden if (path := ask.folder.resolve() / name).exists()
        ]
        empty = place.folder / self.name / "empty"
        if files := [path for path in named if not path.is_dir()]:
            write_whole(empty, b"")
        return replace(
            around,
            # A file is laid over with an empty one: a device, as for secrets, would trip git in the
            # tree.
            binds=(*around.binds, *((empty, path, False) for path in files)),
            hidden=(*around.hidden, *(path for path in named if path.is_dir())),
        )

    def _reply(self, ask: Ask, ran: Ran, told: Told) -> Reply:
        spent = self._spent(ask, told)
        return Reply(
            agent=self.name,
            text=told.text,
            session=told.session,
            usage=replace(_priced(spent, self._seat.settings), seconds=ran.seconds),
            failed=told.failed,
            trouble=(told.trouble or Trouble.OTHER) if told.failed else None,
            retry_after=told.retry_after,
            opened=_relative(told.opened, ask.folder),
            transcript=_kept(self._seat.artifacts, f"{plain(ask.label)}.{plain(self.name)}", ran),
        )

    def _spent(self, ask: Ask, told: Told) -> Usage:
        """What this call cost: some counters go on from the session's earlier calls, so what those
        had is taken off.
        """
        if not self._dialect.cumulative or not told.session:
            return told.usage
        book = self._seat.place.folder / self.name / "spent"
        before = _read_usage(book / f"{plain(ask.session)}.json") if ask.session else Usage()
        total = before if told.usage == Usage() else told.usage  # a call that failed may not tell
        write_whole(book / f"{plain(told.session)}.json", msgspec.json.encode(total))
        return since(told.usage, before, self._dialect.cumulative)


def _exposed(call: Call, folder: Path) -> str:
    """Why a call is too dangerous where nothing is hidden."""
    seen = [name for name in call.hidden if os.path.lexists(folder / name)]
    return (
        f"not started: it would do what {' and '.join(seen)} says, and there is no sandbox to hide"
        " that"
        if seen
        else ""
    )


def _judged(ran: Ran, told: Told) -> Told:
    """What became of the child goes before what it said, but for an error of its own: exit codes
    over 128 look like signals.
    """
    own = told.failed and told.trouble not in (Trouble.CUT, Trouble.CRASHED, None)
    if not ran.trouble or (ran.signalled and own):
        return told
    return replace(told, failed=ran.trouble, trouble=troubles.of_child(ran))


def since(now: Usage, before: Usage, cumulative: tuple[str, ...]) -> Usage:
    """A counter that is lower than before has started anew; then all of it is this call's."""
    deltas = {name: getattr(now, name) - getattr(before, name) for name in cumulative}
    return replace(now, **{name: delta for name, delta in deltas.items() if delta >= 0})


def plain(label: str) -> str:
    """A label as the name of a file; two labels never share one."""
    name = _PLAIN.sub("-", label)[:100].strip("-") or "call"
    return (
        name
        if name == label
        else f"{name}-{sha256(label.encode(errors='surrogatepass')).hexdigest()[:8]}"
    )


def as_json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), separators=(",", ":"))


def _read_usage(path: Path) -> Usage:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Usage)
    except (OSError, msgspec.DecodeError):
        return Usage()


def _priced(usage: Usage, settings: AgentSettings) -> Usage:
    if usage.dollars:
        return usage
    cost = usage.input_tokens * settings.input_price + usage.output_tokens * settings.output_price
    return replace(usage, dollars=cost / _MILLION)


def _relative(paths: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Files inside the folder, by their names there; what was opened elsewhere is nobody's business
    here.
    """
    root = folder.resolve()
    found = []
    for name in paths:
        path = Path(name) if "\0" not in name else root
        for base in (folder, root):
            whole = path if path.is_absolute() else base / path
            if whole.is_relative_to(base) and ".." not in whole.parts and whole.is_file():
                found.append(whole.relative_to(base).as_posix())
                break
    return tuple(dict.fromkeys(found))


def _secrets_in(env: Mapping[str, str], named: Sequence[str]) -> list[str]:
    """What sounds like one, and all that the user named as a key."""
    return [value for name, value in env.items() if name in named or _SECRET_NAME.search(name)]


def _masking(values: list[str]) -> Callable[[bytes], bytes]:
    """Takes secrets out of text. A value of a few letters is no secret, and would
    take words apart.
    """
    secrets = sorted(
        {value.encode() for value in values if len(value) >= _SHORTEST_SECRET},
        key=len,
        reverse=True,
    )

    def masked(text: bytes) -> bytes:
        for secret in secrets:
            text = text.replace(secret, b"***")
        return text

    return masked


def _listener(
    dialect: Dialect, hear: Hear, masked: Callable[[bytes], bytes]
) -> Callable[[bytes], None]:
    lines = Lines()

    def heard(piece: bytes) -> None:
        for line in lines.fed(piece):
            if said := dialect.piece(event(masked(line))):
                hear(said)

    return heard


def _watch(hear: Callable[[bytes], None], client: Client | None, silence: float) -> Watch:
    if client is None:
        return Watch(hear=hear, silence=silence, grace=GRACE)

    def both(piece: bytes) -> None:
        hear(piece)
        client.hear(piece)

    return Watch(hear=both, silence=silence, grace=GRACE, speak=client.begin)


def _kept(artifacts: Artifacts, name: str, ran: Ran) -> str:
    """Writes the conversation down, beside those of earlier tries; the name it has."""
    stderr = b"".join(b"# " + line + b"\n" for line in ran.stderr.splitlines())
    trouble = f"# [{ran.trouble}]\n".encode() if ran.trouble else b""
    name = next(
        taken for n in count(1) if artifacts.read(taken := f"calls/{name}.{n}.jsonl") is None
    )
    artifacts.write(name, ran.stdout + stderr + trouble)
    return name
