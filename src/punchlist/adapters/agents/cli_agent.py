"""Agents that are command-line programs: prompt on stdin, output read line by line."""

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path

import msgspec
from msgspec.structs import replace

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.dialect import (
    AgentCall,
    AgentDialect,
    CallContext,
    ParsedReply,
    StdioClient,
)
from punchlist.adapters.agents.home import AgentPlace, build_sandbox, copy_login
from punchlist.adapters.agents.json_lines import JsonEvent, LineBuffer, parse_event
from punchlist.adapters.agents.network import SECRET_NAME, parse_hosts, plan_network
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.agents.spending import CallMeter, Spending, larger_usage, read_usage_file
from punchlist.adapters.egress.contained_call import OPEN, ContainedCall
from punchlist.adapters.egress.door import Egress
from punchlist.adapters.egress.run_behind_proxy import run_behind_proxy
from punchlist.adapters.egress.traffic import EgressLog, RefusedTry
from punchlist.adapters.folders.look import is_file, path_exists, resolve_path
from punchlist.adapters.process.run import (
    STOPPED,
    Origin,
    OutputWatch,
    ProcessResult,
    base_environment,
    named_environment,
    which,
)
from punchlist.adapters.sandbox.profiles import PROFILES, ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.adapters.sandbox.support import can_hold_network, sandbox_kind
from punchlist.adapters.store.atomic_write import write_atomic
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import AnyEvent, ConnectionRefused
from punchlist.ports.agent import AgentTrouble, Ask, Hear, Reply
from punchlist.ports.artifacts import Artifacts
from punchlist.ports.weaknesses import note_weaknesses

OUTPUT_LIMIT = PROFILES[ChildKind.AGENT].quotas.output
GRACE = 2.0
"""Agents that heed SIGTERM end within half a second, with their session saved; others never do."""

_SHORTEST_SECRET = 6
_NOT_CHARGED = frozenset(
    {
        AgentTrouble.MISSING,
        AgentTrouble.AUTH,
        AgentTrouble.RATE_LIMIT,
        AgentTrouble.OVERLOADED,
        AgentTrouble.TOO_LONG,
    }
)
"""The model's service refused the request: what was not used costs nothing."""
_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")
_URL = "_URL"


@dataclass(frozen=True)
class AgentSetup:
    """What an agent is built from; `settings` have the defaults filled in."""

    name: str
    settings: AgentSettings
    place: AgentPlace
    artifacts: Artifacts
    spending: Spending = field(default_factory=Spending)
    tell: Callable[[AnyEvent], None] = lambda event: None
    """Called with what a call was held by and tried to reach."""


class CliAgent:
    """Agent that runs a command with a dialect."""

    def __init__(self, dialect: AgentDialect, setup: AgentSetup) -> None:
        self.name = setup.name
        self._dialect = dialect
        self._setup = setup
        self._settings = setup.settings
        parse_hosts((*setup.place.hosts, *setup.settings.hosts))

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        if reason := self._setup.spending.refusal_reason():
            return Reply(agent=self.name, failed=reason, trouble=AgentTrouble.LIMIT)
        meter = self._setup.spending.open_call(self._add_price)
        usage = None
        try:
            reply = await self._ask_measured(ask, hear, meter)
            usage = reply.usage
        finally:
            meter.close(usage)
        return reply

    async def _ask_measured(self, ask: Ask, hear: Hear, meter: CallMeter) -> Reply:
        dialect, settings = self._dialect, self._settings
        given = {**settings.env, **named_environment((*dialect.keys, *settings.keys))}
        mask = _make_masker([given[name] for name in _find_secrets(given, settings.keys)])
        contained = self._contain_call(ask, given, meter)
        context = self._build_context(contained.env)
        call = dialect.build_call(ask, context)
        for name, content in call.files.items():
            write_atomic(context.home / name, content.encode())
        measure = self._make_measurer(ask, context, meter)
        listen = _make_listener(dialect, hear, mask, measure)
        try:
            ran = await self._run_call(ask, call, context, contained, listen)
        finally:
            self._setup.tell(contained.describe())
        ran = replace(ran, stdout=mask(ran.stdout), stderr=mask(ran.stderr))
        parsed = _apply_trouble(ran, dialect.parse_output(_without_stop(ran), ask))
        parsed = _apply_limit(parsed, meter)
        parsed = replace(parsed, failed=contained.explain_failure(parsed.failed))
        reply = self._build_reply(ask, ran, parsed, meter)
        name = f"{make_filename(ask.label)}.{make_filename(self.name)}"
        saved = await asyncio.to_thread(_save_transcript, self._setup.artifacts, name, ran)
        return replace(reply, transcript=saved)

    def _contain_call(self, ask: Ask, given: Mapping[str, str], meter: CallMeter) -> ContainedCall:
        """Return the variables of a call, and what it may reach; keys stay outside if they can."""
        place, settings = self._setup.place, self._settings
        child, tell = f"{self.name} ({ask.role})", self._setup.tell
        if not place.sandbox or not can_hold_network():
            kind = sandbox_kind() if place.sandbox else "none"
            return ContainedCall(child, ask.label, dict(given), weaknesses=(OPEN,), sandbox=kind)
        plan = plan_network(self._dialect.access, self._dialect.keys, settings, given, place.hosts)

        def report_refusal(tried: RefusedTry) -> None:
            tell(
                ConnectionRefused(child=child, target=tried.target, why=tried.why, label=ask.label)
            )

        left = set(_find_secrets(given, settings.keys)) - set(plan.held)
        logins = [name for name in settings.login if path_exists(place.user / name)]
        weaknesses = [f"holds the key in {name}" for name in sorted(left)]
        weaknesses += [f"holds a copy of your login {name}" for name in logins]
        return ContainedCall(
            child,
            ask.label,
            {**given, **plan.env},
            Egress(plan.policy, EgressLog(report_refusal), meter=meter),
            plan.held,
            tuple(weaknesses),
            sandbox_kind(),
        )

    def _make_measurer(
        self, ask: Ask, context: CallContext, meter: CallMeter
    ) -> Callable[[JsonEvent], str]:
        """Return what counts the usage of each event, and says why the call must be stopped."""
        read_event = self._dialect.make_meter(context.home)
        before = self._read_session_usage(ask)

        def subtract(total: Usage) -> Usage:
            return subtract_usage(total, before, self._dialect.cumulative)

        def measure(event: JsonEvent) -> str:
            measured = read_event(event)
            return meter.add(measured, subtract) if measured else ""

        return measure

    def _build_context(self, env: Mapping[str, str]) -> CallContext:
        place = self._setup.place
        home = place.make_home(self.name)
        copy_login(self._settings.login, place.user, home)
        names = [name for name in self._dialect.keys if name in env]
        return CallContext(
            home=home,
            tmp=place.make_tmp(self.name),
            settings=self._settings,
            key=next((name for name in names if not name.endswith(_URL)), ""),
            base_url=next((env[name] for name in names if name.endswith(_URL)), ""),
            dollars_left=self._setup.spending.left,
            sandboxed=place.sandbox and sandbox_kind() != "none",
        )

    async def _run_call(
        self,
        ask: Ask,
        call: AgentCall,
        context: CallContext,
        contained: ContainedCall,
        hear: Callable[[bytes], str],
    ) -> ProcessResult:
        settings = self._settings
        command = settings.command or (self._dialect.program,)
        program = which(command[0]) or command[0]
        environment = {
            **base_environment(),
            **call.env,
            **contained.env,
            "HOME": str(context.home),
            "TMPDIR": str(context.tmp),
        }
        line = [program, *command[1:], *call.arguments]
        sandbox = self._build_sandbox(ask, call, [program, *command[1:], which("node") or ""])
        hides = context.sandboxed and sandbox_kind() == "bubblewrap"
        if not hides and (trouble := _exposure_reason(call, ask.folder)):
            return ProcessResult(command=tuple(line), trouble=trouble)
        return await run_behind_proxy(
            line,
            contained.egress,
            sandbox,
            origin=Origin.USERS,
            cwd=call.cwd or ask.folder,
            env=environment,
            timeout=settings.timeout,
            stdin=call.stdin.encode(errors="surrogateescape"),
            limit=OUTPUT_LIMIT,
            watch=_make_watch(hear, call.client, settings.silence),
        )

    def _build_sandbox(self, ask: Ask, call: AgentCall, programs: Sequence[str]) -> Sandbox | None:
        place = self._setup.place
        if not place.sandbox:
            note_weaknesses(ChildKind.AGENT, ["no sandbox (agents.sandbox = false)"])
            return None
        sandbox = build_sandbox(place, self.name, ask.folder, programs, writes=ask.writes)
        obeyed = (resolve_path(ask.folder) / name for name in call.hidden)
        return replace(sandbox, hidden=(*sandbox.hidden, *obeyed))

    def _build_reply(
        self, ask: Ask, ran: ProcessResult, parsed: ParsedReply, meter: CallMeter
    ) -> Reply:
        usage = self._mark_unknown(self._count_usage(ask, parsed, meter), ran, parsed)
        return Reply(
            agent=self.name,
            text=parsed.text,
            session=parsed.session,
            usage=replace(usage, seconds=ran.seconds),
            failed=parsed.failed,
            trouble=(parsed.trouble or AgentTrouble.OTHER) if parsed.failed else None,
            retry_after=parsed.retry_after,
            opened=_relative_paths(parsed.opened, ask.folder),
            denied=tuple(dict.fromkeys(parsed.denied)),
        )

    def _count_usage(self, ask: Ask, parsed: ParsedReply, meter: CallMeter) -> Usage:
        """Return the usage of this call: cumulative counters minus those of the session before.

        Without usage in the result it is what was measured while the call ran. For a call that was
        stopped at the limit that counts, too: it is what the limit was reached by.
        """
        before, total = self._read_session_usage(ask), parsed.usage
        if total == Usage():
            used = meter.usage
            total = before + used if meter.of_session else before
        else:
            resumed = self._dialect.cumulative if parsed.session else ()
            used = self._add_price(subtract_usage(total, before, resumed))
            used = larger_usage(used, meter.usage) if meter.refused and parsed.failed else used
        if self._dialect.cumulative and parsed.session:
            write_atomic(self._session_file(parsed.session), msgspec.json.encode(total))
        return used

    def _session_file(self, session: str) -> Path:
        folder = self._setup.place.folder / self.name / "spent"
        return folder / f"{make_filename(session)}.json"

    def _read_session_usage(self, ask: Ask) -> Usage:
        """Return what the session had used before this call."""
        return read_usage_file(self._session_file(ask.session)) if ask.session else Usage()

    def _add_price(self, usage: Usage) -> Usage:
        if usage.dollars:
            return usage
        given, written = self._settings.input_price or 0, self._settings.output_price or 0
        cost = usage.input_tokens * given + usage.output_tokens * written
        return replace(usage, dollars=cost / 1_000_000)

    def _mark_unknown(self, usage: Usage, ran: ProcessResult, parsed: ParsedReply) -> Usage:
        """Return the usage with its price, and whether all of it is known."""
        usage = self._add_price(usage)
        used = bool(usage.input_tokens or usage.output_tokens)
        not_begun = ran.missing or (ran.exit_code is None and not ran.seconds)
        if not_begun or (not used and not usage.dollars and parsed.trouble in _NOT_CHARGED):
            return usage
        cut = bool(ran.trouble) and bool(parsed.failed)
        prices = (self._settings.input_price, self._settings.output_price)
        priced = prices != (None, None) and (used or (cut and self._dialect.metered))
        unknown = not usage.dollars and not priced
        return replace(usage, unpriced=int(unknown), cut=int(cut))


def _exposure_reason(call: AgentCall, folder: Path) -> str:
    """Return why the call must not be made without a sandbox, or ''."""
    seen = " and ".join(name for name in call.hidden if os.path.lexists(folder / name))
    why = f"it would do what {seen} says, and there is no sandbox to hide that"
    return f"not started: {why}" if seen else ""


def _apply_trouble(ran: ProcessResult, parsed: ParsedReply) -> ParsedReply:
    """Return the reply failed with the child's trouble, if any. After a signal the agent's own
    error wins: exit codes over 128 look like signals.
    """
    own = parsed.failed and parsed.trouble not in (AgentTrouble.CUT, AgentTrouble.CRASHED, None)
    complete = ran.stopped and not parsed.failed
    if not ran.trouble or complete or (ran.signalled and own):
        return parsed
    return replace(parsed, failed=ran.trouble, trouble=troubles.classify_child(ran))


def _apply_limit(parsed: ParsedReply, meter: CallMeter) -> ParsedReply:
    """Return the reply stopped at the limit, if its model was refused to it; an answer that is
    complete without that request counts.
    """
    if not meter.refused or not parsed.failed:
        return parsed
    return replace(parsed, failed=f"{STOPPED}: {meter.refused}", trouble=AgentTrouble.LIMIT)


def _without_stop(ran: ProcessResult) -> ProcessResult:
    """Return the output of a call that was stopped at a limit as if it had ended by itself: an
    answer that was already complete counts.
    """
    return replace(ran, trouble="", exit_code=0) if ran.stopped else ran


def subtract_usage(now: Usage, before: Usage, cumulative: tuple[str, ...]) -> Usage:
    """Return `now` minus `before` in the cumulative fields, unless a counter was reset."""
    deltas = {name: getattr(now, name) - getattr(before, name) for name in cumulative}
    return replace(now, **{name: delta for name, delta in deltas.items() if delta >= 0})


def make_filename(label: str) -> str:
    """Return a unique file name for a label, with a hash if it had to be changed."""
    name = _PLAIN.sub("-", label)[:100].strip("-") or "call"
    if name == label:
        return name
    return f"{name}-{sha256(label.encode(errors='surrogatepass')).hexdigest()[:8]}"


def _relative_paths(paths: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Return the existing files inside the folder, relative to it; drop all others."""
    root = resolve_path(folder)
    found = []
    for name in paths:
        path = Path(name) if "\0" not in name else root
        for base in (folder, root):
            whole = path if path.is_absolute() else base / path
            if whole.is_relative_to(base) and ".." not in whole.parts and is_file(whole):
                found.append(whole.relative_to(base).as_posix())
                break
    return tuple(dict.fromkeys(found))


def _find_secrets(env: Mapping[str, str], named: Sequence[str]) -> list[str]:
    """Return the variables with a secret-like name, or named as keys by the user."""
    return [name for name in env if name in named or SECRET_NAME.search(name)]


def _make_masker(values: list[str]) -> Callable[[bytes], bytes]:
    """Return a function that replaces secrets with ***; values under 6 characters are ignored."""
    long = {value.encode() for value in values if len(value) >= _SHORTEST_SECRET}
    secrets = sorted(long, key=len, reverse=True)

    def mask_secrets(text: bytes) -> bytes:
        for secret in secrets:
            text = text.replace(secret, b"***")
        return text

    return mask_secrets


def _make_listener(
    dialect: AgentDialect,
    hear: Hear,
    mask: Callable[[bytes], bytes],
    measure: Callable[[JsonEvent], str],
) -> Callable[[bytes], str]:
    """Return what shows each line of output, and says why the call must be stopped."""
    lines = LineBuffer()

    def hear_piece(piece: bytes) -> str:
        stop = ""
        for line in lines.feed(piece):
            event = parse_event(mask(line))
            if text := dialect.describe_event(event):
                hear(text)
            stop = measure(event) or stop
        return stop

    return hear_piece


def _make_watch(
    hear: Callable[[bytes], str], client: StdioClient | None, silence: float
) -> OutputWatch:
    if client is None:
        return OutputWatch(hear=hear, silence=silence, grace=GRACE)

    def hear_both(piece: bytes) -> str:
        client.hear(piece)
        return hear(piece)

    return OutputWatch(hear=hear_both, silence=silence, grace=GRACE, speak=client.begin)


def _save_transcript(artifacts: Artifacts, name: str, ran: ProcessResult) -> str:
    """Write the output as a new artifact `calls/NAME.N.jsonl` and return its name."""
    stderr = b"".join(b"# " + line + b"\n" for line in ran.stderr.splitlines())
    trouble = f"# [{ran.trouble}]\n".encode() if ran.trouble else b""
    return save_new(artifacts, f"calls/{name}", "jsonl", ran.stdout + stderr + trouble)


def save_new(artifacts: Artifacts, stem: str, suffix: str, content: bytes) -> str:
    """Write an artifact under the first name STEM.N.SUFFIX that none has; return the name."""
    names = (f"{stem}.{number}.{suffix}" for number in count(1))
    return next(name for name in names if artifacts.create(name, content) is None)
