"""aider, a fixer without structured output: it always exits with 0, so its token line and the diff
count.

It reads settings (`.aider.conf.yml`, `.env`) from the current folder and the repository around
it, and some of them run commands. So it runs in its own home, without git, and gets the files by
absolute path.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import AgentCall, CallContext, ParsedReply
from punchlist.adapters.agents.json_lines import JsonEvent
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask

_FLAGS = """
    --yes-always --no-pretty --no-stream --no-git --no-gitignore --no-auto-commits --no-auto-lint
    --no-auto-test --no-detect-urls
    --no-suggest-shell-commands --no-check-update --no-show-release-notes --no-show-model-warnings
    --no-analytics --map-tokens 0
    --no-restore-chat-history --no-fancy-input --no-notifications --disable-playwright
"""
_UNFENCED = "\n\nWhere JSON is asked for, write it without a code fence.\n"
"""Because aider takes every fenced block for the new content of a file."""
_MOST_FILES = 40
_NAMED = re.compile(r"[\w@+./-]*\w\.\w+")
_SIZE = {"": 1, "k": 1_000, "M": 1_000_000}
_TOKENS = re.compile(
    r"^Tokens: ([\d.,]+)([kM]?) sent,(?:.*,)? ([\d.,]+)([kM]?) received\.(?: Cost:"
    r" \$(\d+(?:\.\d+)?) message)?",
    re.MULTILINE,
)
_ERROR = re.compile(r"^litellm\.(\w+)", re.MULTILINE)
_TROUBLES = {
    "AuthenticationError": AgentTrouble.AUTH,
    "PermissionDeniedError": AgentTrouble.AUTH,
    "RateLimitError": AgentTrouble.RATE_LIMIT,
    "ContextWindowExceededError": AgentTrouble.TOO_LONG,
    "BudgetExceededError": AgentTrouble.LIMIT,
    "InternalServerError": AgentTrouble.OVERLOADED,
    "ServiceUnavailableError": AgentTrouble.OVERLOADED,
    "APIConnectionError": AgentTrouble.OVERLOADED,
    "Timeout": AgentTrouble.OVERLOADED,
}
_LAST_WORDS = 600


class Aider:
    program = "aider"
    keys: tuple[str, ...] = (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
        "DEEPSEEK_API_KEY",
    )
    cumulative: tuple[str, ...] = ()

    def build_call(self, ask: Ask, desk: CallContext) -> AgentCall:
        model = ("--model", desk.settings.model) if desk.settings.model else ()
        effort = ("--reasoning-effort", desk.settings.effort) if desk.settings.effort else ()
        how = () if ask.writes else ("--chat-mode", "ask")
        history = (
            "--chat-history-file",
            str(desk.tmp / "chat.md"),
            "--input-history-file",
            str(desk.tmp / "input"),
        )
        files = [
            argument
            for path in find_files(ask.prompt, ask.folder)
            for argument in ("--file", str(path))
        ]
        return AgentCall(
            arguments=(
                *_FLAGS.split(),
                *model,
                *effort,
                *how,
                *history,
                "--message-file",
                "/dev/stdin",
                *files,
            ),
            stdin=ask.prompt + _UNFENCED,
            env={"LITELLM_LOCAL_MODEL_COST_MAP": "True", "AIDER_ANALYTICS": "false"},
            cwd=desk.home,
        )

    def describe_event(self, event: JsonEvent) -> str:
        return event.noise

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:  # the shape of a dialect
        return parse_transcript(
            ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace")
        )


def parse_transcript(said: str, errors: str = "") -> ParsedReply:
    """Parse aider's output. A successful call ends in a token line; an error
    follows the last one.
    """
    counted = list(_TOKENS.finditer(said))
    after = said[counted[-1].end() :] if counted else said
    usage = Usage(
        input_tokens=sum(_parse_count(found[1], found[2]) for found in counted),
        output_tokens=sum(_parse_count(found[3], found[4]) for found in counted),
        dollars=sum(float(found[5] or 0) for found in counted),
    )
    found = list(_ERROR.finditer(after))
    if counted and not found:
        return ParsedReply(text=_model_text(said[: counted[-1].start()]), usage=usage)
    # The last one is what it gave up on; before that it tried again.
    text = (
        after[found[-1].start() :]
        if found
        else (errors.strip() or after.strip() or "it said nothing")
    )
    trouble = _TROUBLES.get(found[-1][1] if found else "") or troubles.classify_error(text)
    return ParsedReply(
        failed=text.strip()[:_LAST_WORDS],
        trouble=trouble,
        usage=usage,
        retry_after=troubles.parse_retry_delay(text),
    )


def _model_text(said: str) -> str:
    """Return the model's text, without the header block that begins with aider's name."""
    head, found, rest = said.partition("\nAider v")
    return (rest.partition("\n\n")[2] if found else head).strip()


def find_files(prompt: str, folder: Path) -> list[Path]:
    """Return files of the folder that the prompt names, plus one at the top: aider's names are
    relative to the common folder of all files.
    """
    root = folder.resolve()
    found = [root / name for name in dict.fromkeys(_NAMED.findall(prompt)) if _is_file(root, name)][
        :_MOST_FILES
    ]
    if found and not any(path.parent == root for path in found):
        found += sorted(_top_files(root), key=lambda path: (path.stat().st_size, path.name))[:1]
    return found


def _top_files(root: Path) -> Iterator[Path]:
    """Yield the files at the top of the folder, without hidden ones and links."""
    return (
        path
        for path in root.iterdir()
        if path.is_file() and not path.is_symlink() and not path.name.startswith(".")
    )


def _is_file(root: Path, name: str) -> bool:
    try:
        path = (root / name).resolve()
        return path.is_relative_to(root) and path.is_file() and not name.startswith("/")
    except OSError:
        return False


def _parse_count(digits: str, unit: str) -> int:
    try:
        return int(float(digits.replace(",", "")) * _SIZE[unit])
    except ValueError:
        return 0
