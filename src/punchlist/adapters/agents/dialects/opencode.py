"""opencode, asked with `opencode run --format json`."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.denials import find_denial
from punchlist.adapters.agents.dialect import (
    AgentCall,
    CallContext,
    ParsedReply,
    ReadEvent,
    encode_json,
    option,
    require_text,
)
from punchlist.adapters.agents.json_lines import JsonEvent, find_last, first_text, parse_events
from punchlist.adapters.agents.model_access import ConfiguredAccess
from punchlist.adapters.agents.spending import Measured
from punchlist.adapters.folders.look import resolve_path
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask

_ALWAYS = "run --format json --pure --title punchlist --print-logs --log-level ERROR".split()
"""Without a title it asks the model for one; in the logs it says that it retries."""
_DISABLED = """
    PROJECT_CONFIG CLAUDE_CODE EXTERNAL_SKILLS AUTOUPDATE MODELS_FETCH LSP_DOWNLOAD SHARE
    AUTOCOMPACT
""".split()
"""The repository's servers, permissions and instructions, the network, and AUTOCOMPACT, which would
shorten a prompt that is too long and ask again for ever.
"""
_QUIET = {f"OPENCODE_DISABLE_{name}": "1" for name in _DISABLED}
_HIDDEN = (".opencode", "opencode.json", "opencode.jsonc")
"""It runs plugins named there, whatever the flags say."""
_CONFIG = ".config/opencode"
_INSTALLED = {
    f"{_CONFIG}/node_modules/.keep": "",
    f"{_CONFIG}/package-lock.json": encode_json(
        {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    ),
}
"""It takes its library for plugins as installed, and does not fetch it into every new home."""
# Each tool by its name too: a user's rule for one tool goes before the one for all.
_DENIED = "* edit bash task skill webfetch websearch codesearch external_directory".split()
_READS = encode_json(
    dict.fromkeys(_DENIED, "deny") | dict.fromkeys(("read", "grep", "glob", "list"), "allow")
)
_EDITS = encode_json(
    {"*": "allow", "external_directory": "allow", "doom_loop": "allow", "question": "deny"}
)
"""A question to the user would be refused, and end the run as if all were well."""
_PROVIDERS = {
    "opencode": ("OPENCODE_API_KEY", "https://opencode.ai/zen/v1"),
    "anthropic": ("ANTHROPIC_API_KEY", "https://api.anthropic.com/v1"),
    "openai": ("OPENAI_API_KEY", "https://api.openai.com/v1"),
    "google": ("GOOGLE_GENERATIVE_AI_API_KEY", "https://generativelanguage.googleapis.com/v1beta"),
    "openrouter": ("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
}
"""By provider: the variable of its key, and its base URL."""
_MARK = "@"
_BROKEN = ("ECONNRESET", "ECONNREFUSED", "ConnectionClosed")
_NAMED = {
    "ContextOverflowError": AgentTrouble.TOO_LONG,
    "ProviderAuthError": AgentTrouble.AUTH,
    "MessageOutputLengthError": AgentTrouble.LIMIT,
    "MessageAbortedError": AgentTrouble.CUT,
}
_WAITS = (("retry-after-ms", 0.001), ("retry-after", 1.0))


class Opencode:
    program = "opencode"
    keys = tuple(
        "OPENCODE_API_KEY ANTHROPIC_API_KEY OPENAI_API_KEY GOOGLE_GENERATIVE_AI_API_KEY"
        " OPENROUTER_API_KEY OPENCODE_CONFIG_CONTENT".split()
    )
    access = ConfiguredAccess("OPENCODE_CONFIG_CONTENT", _PROVIDERS)
    metered = True
    cumulative = ()

    def build_call(self, ask: Ask, context: CallContext) -> AgentCall:
        settings = context.settings
        arguments = (*_ALWAYS, *option("-m", settings.model), *option("--variant", settings.effort))
        session, _, where = ask.session.partition(_MARK)
        if session and where == _hash_folder(ask.folder):  # elsewhere it would wait for ever
            arguments += ("-s", session, *(("--fork",) if ask.fork else ()))
        env = {**_QUIET, "OPENCODE_PERMISSION": _EDITS if ask.writes else _READS}
        return AgentCall(
            arguments=arguments, stdin=ask.prompt, env=env, files=_INSTALLED, hidden=_HIDDEN
        )

    def describe_event(self, event: JsonEvent) -> str:
        part = event.get("part")
        match event.type:
            case "text":
                return part.text("text")
            case "tool_use":
                given = part.get("state", "input")
                target = given.text("filePath") or given.text("command") or given.text("pattern")
                return f"{part.text('tool')} {target}".strip()
            case _:
                return ""

    def make_meter(self, home: Path) -> ReadEvent:
        return _measure_event

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        found = list(parse_events(ran.stdout))
        session = first_text(found, "sessionID")
        end = find_last(found, "step_finish", "error")
        failed, trouble = _explain_failure(end, ran) if end else troubles.explain_no_result(ran)
        reply = ParsedReply(
            text=_last_message(found, end) if end else "",
            session=f"{session}{_MARK}{_hash_folder(ask.folder)}" if session else "",
            usage=_sum_usage(found),
            failed=failed,
            trouble=trouble,
            retry_after=_retry_delay(end) if end and failed else 0,
            opened=tuple(filter(None, map(_opened_file, found))),
            denied=tuple(filter(None, map(_find_denial, found))),
        )
        return require_text(reply)


def _hash_folder(folder: Path) -> str:
    return sha256(str(resolve_path(folder)).encode(errors="surrogateescape")).hexdigest()[:12]


def _explain_failure(end: JsonEvent, ran: ProcessResult) -> tuple[str, AgentTrouble | None]:
    if end.type == "error":
        return _classify_error(end.get("error"))
    if (reason := end.text("part", "reason")) != "stop":
        kind = AgentTrouble.LIMIT if reason == "length" else AgentTrouble.CUT
        return f"it ended in the middle of its work ({reason or 'for no reason given'})", kind
    return troubles.explain_exit(ran)


def _classify_error(error: JsonEvent) -> tuple[str, AgentTrouble]:
    name = error.text("name")
    message = error.text("data", "message") or name or "an error without a message"
    if name in _NAMED:
        return message, _NAMED[name]
    if error.text("data", "metadata", "code") in _BROKEN:
        return message, AgentTrouble.CUT
    return message, troubles.classify_error(message, error.count("data", "statusCode"))


def _retry_delay(end: JsonEvent) -> float:
    headers = end.get("error", "data", "responseHeaders")
    for name, unit in _WAITS:
        text = headers.text(name)
        if text.replace(".", "", 1).isdecimal():
            return float(text) * unit
    return 0


def _measure_event(event: JsonEvent) -> Measured | None:
    if event.type != "step_finish":
        return None
    part = event.get("part")
    key = part.text("id") or part.text("messageID")
    return Measured(key=key, usage=_sum_usage([event]), continues=part.text("reason") != "stop")


def _sum_usage(found: Sequence[JsonEvent]) -> Usage:
    """Return the sum over all steps, with reasoning and cached tokens."""
    steps = [event.get("part") for event in found if event.type == "step_finish"]

    def total(*names: tuple[str, ...]) -> int:
        return sum(part.count("tokens", *name) for part in steps for name in names)

    return Usage(
        input_tokens=total(("input",), ("cache", "read"), ("cache", "write")),
        output_tokens=total(("output",), ("reasoning",)),
        dollars=sum(max(part.number("cost"), 0) for part in steps),
    )


def _last_message(found: Sequence[JsonEvent], end: JsonEvent) -> str:
    """Return the text of the message that the last step belongs to."""
    message = end.text("part", "messageID")
    parts = [event.get("part") for event in found if event.type == "text"]
    return "".join(
        part.text("text")
        for part in parts
        if part.text("messageID") == message and not part.is_true("synthetic")
    )


def _find_denial(event: JsonEvent) -> str:
    part = event.get("part")
    given = part.get("state", "input")
    target = given.text("filePath") or given.text("command")
    why = part.text("state", "error") if part.text("state", "status") == "error" else ""
    return find_denial(part.text("tool"), target, why)


def _opened_file(event: JsonEvent) -> str:
    """Return the file of a tool call that succeeded, or ''."""
    state = event.get("part", "state")
    completed = event.type == "tool_use" and state.text("status") == "completed"
    return state.text("input", "filePath") if completed else ""
