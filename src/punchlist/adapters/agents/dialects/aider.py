"""aider, a fixer without a structured word: it always exits with 0, so its own token line and the
diff are what counts.

It reads settings and variables (`.aider.conf.yml`, `.env`) from where it stands and from the
repository around that, and some of them run commands. So it stands in its own home, without git,
and is given the files by their full names.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import Call, Desk, Told
from punchlist.adapters.agents.json_lines import Event
from punchlist.adapters.process.run import Ran
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Ask, Trouble

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
    "AuthenticationError": Trouble.AUTH,
    "PermissionDeniedError": Trouble.AUTH,
    "RateLimitError": Trouble.RATE_LIMIT,
    "ContextWindowExceededError": Trouble.TOO_LONG,
    "BudgetExceededError": Trouble.LIMIT,
    "InternalServerError": Trouble.OVERLOADED,
    "ServiceUnavailableError": Trouble.OVERLOADED,
    "APIConnectionError": Trouble.OVERLOADED,
    "Timeout": Trouble.OVERLOADED,
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

    def call(self, ask: Ask, desk: Desk) -> Call:
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
            argument for path in named(ask.prompt, ask.folder) for argument in ("--file", str(path))
        ]
        return Call(
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

    def piece(self, event: Event) -> str:
        return event.noise

    def told(self, ran: Ran, ask: Ask) -> Told:  # the shape of a dialect
        return told(ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace"))


def told(said: str, errors: str = "") -> Told:
    """A call to the model that went well ends in its token line; an error is what comes after the
    last of these.
    """
    counted = list(_TOKENS.finditer(said))
    after = said[counted[-1].end() :] if counted else said
    usage = Usage(
        input_tokens=sum(_number(found[1], found[2]) for found in counted),
        output_tokens=sum(_number(found[3], found[4]) for found in counted),
        dollars=sum(float(found[5] or 0) for found in counted),
    )
    found = list(_ERROR.finditer(after))
    if counted and not found:
        return Told(text=_words(said[: counted[-1].start()]), usage=usage)
    # The last one is what it gave up on; before that it tried again.
    text = (
        after[found[-1].start() :]
        if found
        else (errors.strip() or after.strip() or "it said nothing")
    )
    trouble = _TROUBLES.get(found[-1][1] if found else "") or troubles.of_error(text)
    return Told(
        failed=text.strip()[:_LAST_WORDS],
        trouble=trouble,
        usage=usage,
        retry_after=troubles.wait_told(text),
    )


def _words(said: str) -> str:
    """What the model said: the block that begins with aider's own name ends at the first empty
    line.
    """
    head, found, rest = said.partition("\nAider v")
    return (rest.partition("\n\n")[2] if found else head).strip()


def named(prompt: str, folder: Path) -> list[Path]:
    """Files of the folder that the prompt names, and one at the top: names are relative to what all
    files have in common.
    """
    root = folder.resolve()
    found = [root / name for name in dict.fromkeys(_NAMED.findall(prompt)) if _is_file(root, name)][
        :_MOST_FILES
    ]
    if found and not any(path.parent == root for path in found):
        found += sorted(_top(root), key=lambda path: (path.stat().st_size, path.name))[:1]
    return found


def _top(root: Path) -> Iterator[Path]:
    """But for hidden ones, which may hold what is nobody's business."""
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


def _number(digits: str, unit: str) -> int:
    try:
        return int(float(digits.replace(",", "")) * _SIZE[unit])
    except ValueError:
        return 0
