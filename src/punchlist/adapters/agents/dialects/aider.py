"""aider: it has no structured output and always exits with 0, so its token line and the diff count.

Settings in the current folder and repository (`.aider.conf.yml`, `.env`) can run commands. So it
runs in its own home, without git, and gets the files by absolute path.
"""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.dialect import AgentCall, CallContext, ParsedReply, Unmetered, option
from punchlist.adapters.agents.json_lines import JsonEvent
from punchlist.adapters.agents.model_access import ModelAccess, ModelEndpoint
from punchlist.adapters.folders.look import is_file, is_link, list_folder, resolve_path
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import FENCED, UNFENCED, AgentTrouble, Ask

_FLAGS = """
    --yes-always --no-pretty --no-stream --no-git --no-gitignore --no-auto-commits --no-auto-lint
    --no-auto-test --no-detect-urls
    --no-suggest-shell-commands --no-check-update --no-show-release-notes --no-show-model-warnings
    --no-analytics --map-tokens 0
    --no-restore-chat-history --no-fancy-input --no-notifications --disable-playwright
"""
_UNFENCED = "\n\nWhere JSON is asked for, write it without a code fence.\n"
"""For a prompt of the user's own. It takes every fenced block for the new content of a file."""
_MOST_FILES = 40
_NAMED = re.compile(r"[\w@+./-]*\w\.\w+")
_SIZE = {"": 1, "k": 1_000, "M": 1_000_000}
_TOKENS = re.compile(
    r"^Tokens: ([\d.,]+)([kM]?) sent,(?:.*,)? ([\d.,]+)([kM]?) received\.(?: Cost:"
    r" \$(\d+(?:\.\d+)?) message)?",
    re.MULTILINE,
)
_ERROR = re.compile(r"^litellm\.(\w+)", re.MULTILINE)
_OVERLOADED = ("InternalServerError", "ServiceUnavailableError", "APIConnectionError", "Timeout")
_TROUBLES = {
    "AuthenticationError": AgentTrouble.AUTH,
    "PermissionDeniedError": AgentTrouble.AUTH,
    "RateLimitError": AgentTrouble.RATE_LIMIT,
    "ContextWindowExceededError": AgentTrouble.TOO_LONG,
    "BudgetExceededError": AgentTrouble.LIMIT,
    **dict.fromkeys(_OVERLOADED, AgentTrouble.OVERLOADED),
}
_LAST_WORDS = 600


class Aider(Unmetered):
    program = "aider"
    keys = tuple(
        f"{name}_API_KEY" for name in ("OPENAI", "ANTHROPIC", "GEMINI", "OPENROUTER", "DEEPSEEK")
    )
    access = ModelAccess(
        ModelEndpoint(("OPENAI_API_KEY",), "OPENAI_API_BASE", "https://api.openai.com/v1"),
        ModelEndpoint(("ANTHROPIC_API_KEY",), "ANTHROPIC_API_BASE", "https://api.anthropic.com"),
        hosts=("generativelanguage.googleapis.com", "openrouter.ai", "api.deepseek.com"),
    )
    cumulative = ()

    def build_call(self, ask: Ask, context: CallContext) -> AgentCall:
        files = (option("--file", str(path)) for path in find_files(ask.prompt, ask.folder))
        return AgentCall(
            arguments=(
                *_FLAGS.split(),
                *option("--model", context.settings.model),
                *option("--reasoning-effort", context.settings.effort),
                *option("--chat-mode", "" if ask.writes else "ask"),
                *option("--chat-history-file", str(context.tmp / "chat.md")),
                *option("--input-history-file", str(context.tmp / "input")),
                *option("--message-file", "/dev/stdin"),
                *chain.from_iterable(files),
            ),
            stdin=_ask_unfenced(ask.prompt),
            env={"LITELLM_LOCAL_MODEL_COST_MAP": "True", "AIDER_ANALYTICS": "false"},
            cwd=context.home,
        )

    def describe_event(self, event: JsonEvent) -> str:
        return event.noise

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        errors = ran.stderr.decode(errors="replace")
        return parse_transcript(ran.stdout.decode(errors="replace"), errors)


def _ask_unfenced(prompt: str) -> str:
    """Return the prompt with one instruction about fences, the one that fits."""
    return prompt.replace(FENCED, UNFENCED) if FENCED in prompt else prompt + _UNFENCED


def parse_transcript(output: str, errors: str = "") -> ParsedReply:
    """Parse aider's output; a good call ends in a token line, an error follows the last one."""
    counted = list(_TOKENS.finditer(output))
    after = output[counted[-1].end() :] if counted else output
    usage = Usage(
        input_tokens=sum(_parse_count(found[1], found[2]) for found in counted),
        output_tokens=sum(_parse_count(found[3], found[4]) for found in counted),
        dollars=sum(float(found[5] or 0) for found in counted),
    )
    found = list(_ERROR.finditer(after))
    if counted and not found:
        return ParsedReply(text=_model_text(output[: counted[-1].start()]), usage=usage)
    text = errors.strip() or after.strip() or "it said nothing"
    name = ""
    if found:  # it gave up on the last error; after those before, it tried again
        text, name = after[found[-1].start() :], found[-1][1]
    trouble = _TROUBLES.get(name) or troubles.classify_error(text)
    return ParsedReply(
        failed=text.strip()[:_LAST_WORDS],
        trouble=trouble,
        usage=usage,
        retry_after=troubles.parse_retry_delay(text),
    )


def _model_text(output: str) -> str:
    """Return the model's text, without the header block that begins with aider's name."""
    head, found, rest = output.partition("\nAider v")
    return (rest.partition("\n\n")[2] if found else head).strip()


def find_files(prompt: str, folder: Path) -> list[Path]:
    """Return the files of the folder that the prompt names, and one at its top: aider's names are
    relative to the common folder of all files.
    """
    root = resolve_path(folder)
    names = [name for name in dict.fromkeys(_NAMED.findall(prompt)) if _is_file(root, name)]
    found = [root / name for name in names[:_MOST_FILES]]
    if found and not any(path.parent == root for path in found):
        found += sorted(_top_files(root), key=lambda path: (path.stat().st_size, path.name))[:1]
    return found


def _top_files(root: Path) -> Iterator[Path]:
    """Yield the files at the top of the folder, without hidden ones and links."""
    for path in list_folder(root):
        if is_file(path) and not is_link(path) and not path.name.startswith("."):
            yield path


def _is_file(root: Path, name: str) -> bool:
    path = resolve_path(root / name)
    return path.is_relative_to(root) and is_file(path) and not name.startswith("/")


def _parse_count(digits: str, unit: str) -> int:
    try:
        return int(float(digits.replace(",", "")) * _SIZE[unit])
    except ValueError:
        return 0
