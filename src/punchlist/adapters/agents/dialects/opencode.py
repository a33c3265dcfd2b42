"""opencode, asked with `opencode run --format json`."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import Call, Desk, Told, as_json
from punchlist.adapters.agents.json_lines import Event, events
from punchlist.adapters.process.run import Ran
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Ask, Trouble

_ALWAYS = (
    "run",
    "--format",
    "json",
    "--pure",
    "--title",  # else another question is asked, for a title
    "punchlist",
    "--print-logs",  # a model that is asked again is a line there, and not silence
    "--log-level",
    "ERROR",
)
_QUIET = MappingProxyType(
    {
        # the repository's servers, permissions and instructions
        "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        "OPENCODE_DISABLE_CLAUDE_CODE": "1",
        "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_SHARE": "1",
        # a prompt too long would be made shorter and asked again for ever
        "OPENCODE_DISABLE_AUTOCOMPACT": "1",
    }
)
_HIDDEN = (".opencode", "opencode.json", "opencode.jsonc")
"""Plugins named there are run whatever the flags say."""
_CONFIG = ".config/opencode"
_INSTALLED: Mapping[str, str] = {
    f"{_CONFIG}/node_modules/.keep": "",
    f"{_CONFIG}/package-lock.json": as_json(
        {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    ),
}
"""It takes its library for plugins as installed, and does not fetch it into every new home."""
_READS = as_json(
    # Each by its name too: a rule of the user's own for a tool would go before the one for all.
    dict.fromkeys(
        (
            "*",
            "edit",
            "bash",
            "task",
            "skill",
            "webfetch",
            "websearch",
            "codesearch",
            "external_directory",
        ),
        "deny",
    )
    | dict.fromkeys(("read", "grep", "glob", "list"), "allow")
)
_EDITS = as_json(
    {"*": "allow", "external_directory": "allow", "doom_loop": "allow", "question": "deny"}
)
"""What would have to be asked is refused without a person, and ends the whole run as if all were
well.
"""
_MARK = "@"
_BROKEN = ("ECONNRESET", "ECONNREFUSED", "ConnectionClosed")
_NAMED = MappingProxyType(
    {
        "ContextOverflowError": Trouble.TOO_LONG,
        "ProviderAuthError": Trouble.AUTH,
        "MessageOutputLengthError": Trouble.LIMIT,
        "MessageAbortedError": Trouble.CUT,
    }
)
_WAITS = (("retry-after-ms", 0.001), ("retry-after", 1.0))


class Opencode:
    program = "opencode"
    keys = (
        "OPENCODE_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "OPENROUTER_API_KEY",
        "OPENCODE_CONFIG_CONTENT",
    )
    cumulative = ()

    def call(self, ask: Ask, desk: Desk) -> Call:
        arguments = list(_ALWAYS)
        if desk.settings.model:
            arguments += ["-m", desk.settings.model]
        if desk.settings.effort:
            arguments += ["--variant", desk.settings.effort]
        session, _, where = ask.session.partition(_MARK)
        if session and where == _digest(ask.folder):
            # In any other folder it would wait for ever.
            arguments += ["-s", session, *(["--fork"] if ask.fork else [])]
        env = {**_QUIET, "OPENCODE_PERMISSION": _EDITS if ask.writes else _READS}
        return Call(
            arguments=tuple(arguments), stdin=ask.prompt, env=env, files=_INSTALLED, hidden=_HIDDEN
        )

    def piece(self, event: Event) -> str:
        match event.text("type"):
            case "text":
                return event.text("part", "text")
            case "tool_use":
                given = event.at("part", "state", "input")
                target = given.text("filePath") or given.text("command") or given.text("pattern")
                return f"{event.text('part', 'tool')} {target}".strip()
            case _:
                return ""

    def told(self, ran: Ran, ask: Ask) -> Told:
        found = list(events(ran.stdout))
        session = next((name for event in found if (name := event.text("sessionID"))), "")
        ends = [event for event in found if event.text("type") in ("step_finish", "error")]
        failed, trouble = _failure(ends[-1], ran) if ends else troubles.no_result(ran)
        text = _last_word(found, ends[-1]) if ends and not failed else ""
        if not failed and not text.strip():
            failed, trouble = "its answer is empty", Trouble.OTHER
        return Told(
            text="" if failed else text,
            session=f"{session}{_MARK}{_digest(ask.folder)}" if session else "",
            usage=_usage(found),
            failed=failed,
            trouble=trouble,
            retry_after=_wait(ends[-1]) if ends and failed else 0,
            opened=tuple(_opened(event) for event in found if _opened(event)),
        )


def _digest(folder: Path) -> str:
    return sha256(str(folder.resolve()).encode(errors="surrogateescape")).hexdigest()[:12]


def _failure(end: Event, ran: Ran) -> tuple[str, Trouble | None]:
    if end.text("type") == "error":
        return _error(end.at("error"))
    if (reason := end.text("part", "reason")) != "stop":
        kind = Trouble.LIMIT if reason == "length" else Trouble.CUT
        return f"it ended in the middle of its work ({reason or 'for no reason given'})", kind
    return (
        ("", None)
        if ran.exit_code == 0
        else (f"it ended with code {ran.exit_code} after its result", Trouble.CRASHED)
    )


def _error(error: Event) -> tuple[str, Trouble]:
    name = error.text("name")
    message = error.text("data", "message") or name or "an error without a message"
    if name in _NAMED:
        return message, _NAMED[name]
    if error.text("data", "metadata", "code") in _BROKEN:
        return message, Trouble.CUT
    return message, troubles.of_error(message, error.count("data", "statusCode"))


def _wait(end: Event) -> float:
    headers = end.at("error", "data", "responseHeaders")
    told = ((headers.text(name), unit) for name, unit in _WAITS)
    return next(
        (float(text) * unit for text, unit in told if text.replace(".", "", 1).isdecimal()), 0
    )


def _usage(found: Sequence[Event]) -> Usage:
    """The sum of its steps; what it thinks and what it reads from a cache is
    counted apart there.
    """
    steps = [event.at("part") for event in found if event.text("type") == "step_finish"]
    given = (
        part.count("tokens", *name)
        for part in steps
        for name in (("input",), ("cache", "read"), ("cache", "write"))
    )
    written = chain.from_iterable(
        (part.count("tokens", "output"), part.count("tokens", "reasoning")) for part in steps
    )
    return Usage(
        input_tokens=sum(given),
        output_tokens=sum(written),
        dollars=sum(max(part.number("cost"), 0) for part in steps),
    )


def _last_word(found: Sequence[Event], end: Event) -> str:
    """The text of the message that the last step belongs to."""
    message = end.text("part", "messageID")
    return "".join(
        event.text("part", "text")
        for event in found
        if event.text("type") == "text"
        and event.text("part", "messageID") == message
        and not event.true("part", "synthetic")
    )


def _opened(event: Event) -> str:
    """The file of a tool that came through."""
    state = event.at("part", "state")
    completed = event.text("type") == "tool_use" and state.text("status") == "completed"
    return state.text("input", "filePath") if completed else ""
