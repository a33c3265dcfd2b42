"""Agents that are command-line programs: prompt on stdin, output read line by line.

To add one, write a dialect and name it in `registry.AGENTS`:

    class Parrot:
        program = "parrot"                 # default; settings may name another
        keys = ("PARROT_API_KEY",)         # variables from the user's environment
        cumulative = ()                    # fields of Usage that count a whole session
        def build_call(self, ask: Ask, desk: CallContext) -> AgentCall:
            env = {"PARROT_HOME": str(desk.home)}
            return AgentCall(arguments=("--json",), env=env, stdin=ask.prompt)
        def describe_event(self, event: JsonEvent) -> str:  # progress text; often ""
            return event.text("message")
        def parse_output(self, ran: Ran, ask: Ask) -> ParsedReply:
            return ParsedReply(text=...)   # or failed=..., trouble=classify_error(...)

`parse_output` also parses what a killed child left: its session, opened files and usage.
Without a result event it uses `troubles.explain_no_result(ran)`. Silence, timeouts,
signals and missing programs are handled here.
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
from punchlist.adapters.agents.home import AgentPlace, build_sandbox, copy_login
from punchlist.adapters.agents.json_lines import JsonEvent, LineBuffer, parse_event
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.process.run import (
    ChildInput,
    OutputWatch,
    ProcessResult,
    base_environment,
    named_environment,
    run,
    which,
)
from punchlist.adapters.process.sandbox import Sandbox, sandbox_kind
from punchlist.adapters.store.atomic_write import write_atomic
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask, Hear, Reply
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


class CallContext(Struct, frozen=True, kw_only=True):
    """The context of one call: the agent's own folders and its settings."""

    home: Path
    tmp: Path
    settings: AgentSettings
    key: str = ""
    """The name of the key variable that is set, for agents that have to be told."""
    base_url: str = ""
    """Where the model is, for agents that read that from no variable; it has been one all the same,
    such as OPENAI_BASE_URL.
    """


class StdioClient(Protocol):
    """Talks with a program that needs more than one message on stdin."""

    def begin(self, voice: ChildInput) -> None: ...

    def hear(self, piece: bytes) -> None: ...


class AgentCall(Struct, frozen=True, kw_only=True):
    """The command line for one question. `files` (relative name -> text) are written below the
    agent's home first.
    """

    arguments: tuple[str, ...]
    stdin: str
    env: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    cwd: Path | None = None
    """Where it stands, if that is not the folder it is asked about."""
    client: StdioClient | None = None
    hidden: tuple[str, ...] = ()
    """Names in the folder that it must not see, because it would do what is written there and no
    flag prevents that.

    The walls hide them; where there are none, and one of the names is there, the call is not made.
    """


class ParsedReply(Struct, frozen=True, kw_only=True):
    """What a dialect parsed from the output. `failed` is set unless a result event
    reports success.
    """

    text: str = ""
    session: str = ""
    usage: Usage = Usage()
    failed: str = ""
    trouble: AgentTrouble | None = None
    retry_after: float = 0
    opened: tuple[str, ...] = ()
    """As the agent named them: absolute, or relative to the folder."""


class AgentDialect(Protocol):
    """How one program is called and its output parsed; see the module docstring."""

    @property
    def program(self) -> str: ...

    @property
    def keys(self) -> tuple[str, ...]: ...

    @property
    def cumulative(self) -> tuple[str, ...]: ...

    def build_call(self, ask: Ask, desk: CallContext) -> AgentCall: ...

    def describe_event(self, event: JsonEvent) -> str: ...

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply: ...


@dataclass(frozen=True)
class AgentSetup:
    """What an agent is built from; `settings` have the defaults filled in."""

    name: str
    settings: AgentSettings
    place: AgentPlace
    artifacts: Artifacts


class CliAgent:
    """Agent that runs a command with a dialect."""

    def __init__(self, dialect: AgentDialect, seat: AgentSetup) -> None:
        self._dialect = dialect
        self._seat = seat

    @property
    def name(self) -> str:
        return self._seat.name

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        keys = named_environment((*self._dialect.keys, *self._seat.settings.keys))
        masked = _make_masker(
            _find_secrets({**self._seat.settings.env, **keys}, self._seat.settings.keys)
        )
        desk = self._build_context(keys)
        call = self._dialect.build_call(ask, desk)
        for name, content in call.files.items():
            write_atomic(desk.home / name, content.encode())
        ran = await self._run_call(
            ask, call, desk, keys, _make_listener(self._dialect, hear, masked)
        )
        ran = replace(ran, stdout=masked(ran.stdout), stderr=masked(ran.stderr))
        return self._build_reply(
            ask, ran, _apply_trouble(ran, self._dialect.parse_output(ran, ask))
        )

    def _build_context(self, keys: Mapping[str, str]) -> CallContext:
        place, name = self._seat.place, self._seat.name
        home = place.make_home(name)
        copy_login(self._seat.settings.login, place.user, home)
        given = {**self._seat.settings.env, **keys}
        key = next(
            (key for key in self._dialect.keys if key in given and not key.endswith(_URL)), ""
        )
        url = next(
            (given[key] for key in self._dialect.keys if key in given and key.endswith(_URL)), ""
        )
        return CallContext(
            home=home, tmp=place.make_tmp(name), settings=self._seat.settings, key=key, base_url=url
        )

    async def _run_call(
        self,
        ask: Ask,
        call: AgentCall,
        desk: CallContext,
        keys: Mapping[str, str],
        hear: Callable[[bytes], None],
    ) -> ProcessResult:
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
        around = self._build_sandbox(ask, call, [program, *command[1:], which("node") or ""])
        if not around and (trouble := _exposure_reason(call, ask.folder)):
            return ProcessResult(
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
            watch=_make_watch(hear, call.client, settings.silence),
        )

    def _build_sandbox(self, ask: Ask, call: AgentCall, programs: Sequence[str]) -> Sandbox | None:
        place = self._seat.place
        if not place.sandbox or sandbox_kind() != "bubblewrap":
            return None
        around = build_sandbox(place, self.name, ask.folder, programs, writes=ask.writes)
        named = [
            path.resolve() for name in call.hidden if (path := ask.folder.resolve() / name).exists()
        ]
        empty = place.folder / self.name / "empty"
        if files := [path for path in named if not path.is_dir()]:
            write_atomic(empty, b"")
        return replace(
            around,
            # A file is laid over with an empty one: a device, as for secrets, would trip git in the
            # tree.
            binds=(*around.binds, *((empty, path, False) for path in files)),
            hidden=(*around.hidden, *(path for path in named if path.is_dir())),
        )

    def _build_reply(self, ask: Ask, ran: ProcessResult, told: ParsedReply) -> Reply:
        spent = self._count_usage(ask, told)
        return Reply(
            agent=self.name,
            text=told.text,
            session=told.session,
            usage=replace(_add_price(spent, self._seat.settings), seconds=ran.seconds),
            failed=told.failed,
            trouble=(told.trouble or AgentTrouble.OTHER) if told.failed else None,
            retry_after=told.retry_after,
            opened=_relative_paths(told.opened, ask.folder),
            transcript=_save_transcript(
                self._seat.artifacts, f"{make_filename(ask.label)}.{make_filename(self.name)}", ran
            ),
        )

    def _count_usage(self, ask: Ask, told: ParsedReply) -> Usage:
        """Return the usage of this call alone: cumulative counters minus those of the session's
        earlier calls.
        """
        if not self._dialect.cumulative or not told.session:
            return told.usage
        book = self._seat.place.folder / self.name / "spent"
        before = (
            _read_usage(book / f"{make_filename(ask.session)}.json") if ask.session else Usage()
        )
        total = before if told.usage == Usage() else told.usage  # a call that failed may not tell
        write_atomic(book / f"{make_filename(told.session)}.json", msgspec.json.encode(total))
        return subtract_usage(told.usage, before, self._dialect.cumulative)


def _exposure_reason(call: AgentCall, folder: Path) -> str:
    """Return why the call must not be made without a sandbox, or ''."""
    seen = [name for name in call.hidden if os.path.lexists(folder / name)]
    return (
        f"not started: it would do what {' and '.join(seen)} says, and there is no sandbox to hide"
        " that"
        if seen
        else ""
    )


def _apply_trouble(ran: ProcessResult, told: ParsedReply) -> ParsedReply:
    """Return `told` failed with the child's trouble, if any. After a signal the agent's own error
    wins: exit codes over 128 look like signals.
    """
    own = told.failed and told.trouble not in (AgentTrouble.CUT, AgentTrouble.CRASHED, None)
    if not ran.trouble or (ran.signalled and own):
        return told
    return replace(told, failed=ran.trouble, trouble=troubles.classify_child(ran))


def subtract_usage(now: Usage, before: Usage, cumulative: tuple[str, ...]) -> Usage:
    """Return `now` minus `before` in the cumulative fields; a counter that went down was reset and
    stays whole.
    """
    deltas = {name: getattr(now, name) - getattr(before, name) for name in cumulative}
    return replace(now, **{name: delta for name, delta in deltas.items() if delta >= 0})


def make_filename(label: str) -> str:
    """Return a unique file name for a label, with a hash if it had to be changed."""
    name = _PLAIN.sub("-", label)[:100].strip("-") or "call"
    return (
        name
        if name == label
        else f"{name}-{sha256(label.encode(errors='surrogatepass')).hexdigest()[:8]}"
    )


def encode_json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), separators=(",", ":"))


def _read_usage(path: Path) -> Usage:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Usage)
    except (OSError, msgspec.DecodeError):
        return Usage()


def _add_price(usage: Usage, settings: AgentSettings) -> Usage:
    if usage.dollars:
        return usage
    cost = usage.input_tokens * settings.input_price + usage.output_tokens * settings.output_price
    return replace(usage, dollars=cost / _MILLION)


def _relative_paths(paths: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Return the existing files inside the folder, relative to it; drop all others."""
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


def _find_secrets(env: Mapping[str, str], named: Sequence[str]) -> list[str]:
    """Return the values of variables with a secret-like name or named as keys by the user."""
    return [value for name, value in env.items() if name in named or _SECRET_NAME.search(name)]


def _make_masker(values: list[str]) -> Callable[[bytes], bytes]:
    """Return a function that replaces secrets with ***; values under 6 characters are ignored."""
    secrets = sorted(
        {value.encode() for value in values if len(value) >= _SHORTEST_SECRET},
        key=len,
        reverse=True,
    )

    def mask_secrets(text: bytes) -> bytes:
        for secret in secrets:
            text = text.replace(secret, b"***")
        return text

    return mask_secrets


def _make_listener(
    dialect: AgentDialect, hear: Hear, masked: Callable[[bytes], bytes]
) -> Callable[[bytes], None]:
    lines = LineBuffer()

    def hear_piece(piece: bytes) -> None:
        for line in lines.feed(piece):
            if said := dialect.describe_event(parse_event(masked(line))):
                hear(said)

    return hear_piece


def _make_watch(
    hear: Callable[[bytes], None], client: StdioClient | None, silence: float
) -> OutputWatch:
    if client is None:
        return OutputWatch(hear=hear, silence=silence, grace=GRACE)

    def hear_both(piece: bytes) -> None:
        hear(piece)
        client.hear(piece)

    return OutputWatch(hear=hear_both, silence=silence, grace=GRACE, speak=client.begin)


def _save_transcript(artifacts: Artifacts, name: str, ran: ProcessResult) -> str:
    """Write the output as a new artifact `calls/NAME.N.jsonl` and return its name."""
    stderr = b"".join(b"# " + line + b"\n" for line in ran.stderr.splitlines())
    trouble = f"# [{ran.trouble}]\n".encode() if ran.trouble else b""
    name = next(
        taken for n in count(1) if artifacts.read(taken := f"calls/{name}.{n}.jsonl") is None
    )
    artifacts.write(name, ran.stdout + stderr + trouble)
    return name
