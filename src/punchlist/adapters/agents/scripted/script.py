"""Script format of the scripted agent: when a line matches, what it does and answers."""

from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.errors import SettingsError
from punchlist.model.finding.guarded_text import parse_json, parse_toml
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble

_HINT = "docs/guides/scripted-agent.md has the format of a script"
_FIXED = {"outcome": "fixed", "explanation": "done"}

Texts = str | tuple[str, ...]


def list_texts(value: Texts) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


class ScriptEdit(Struct, frozen=True, forbid_unknown_fields=True, rename={"by": "with"}):
    """One edit of a file: new content, text appended, text replaced `with` another, or deletion."""

    path: str
    content: str | None = None
    append: str | None = None
    replace: str | None = None
    by: str = ""
    delete: bool = False

    def __post_init__(self) -> None:
        path = PurePosixPath(self.path)
        if not self.path or path.is_absolute() or ".." in path.parts:
            why = f"`path` must lead to a file below the folder, and {self.path!r} does not"
            raise ValueError(why)
        texts = (self.content, self.append, self.replace)
        if sum(text is not None for text in texts) + self.delete != 1:
            why = "an edit needs exactly one of `content`, `append`, `replace` and `delete`"
            raise ValueError(why)


class ScriptFix(Struct, frozen=True, forbid_unknown_fields=True):
    """What is done about items with the text `when` in the prompt; without it, about all others."""

    when: str = ""
    edits: tuple[ScriptEdit, ...] = ()
    outcome: dict[str, Any] | None = msgspec.field(default_factory=_FIXED.copy)
    """What is reported, besides the item's code under `id`; null reports nothing."""


class Failure(Struct, frozen=True, forbid_unknown_fields=True):
    text: str = "the script says so"
    trouble: AgentTrouble = AgentTrouble.OTHER
    retry_after: float = 0


class ScriptLine(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The first line is played whose given `role`, `label`, `prompt` and `round` all match."""

    role: Texts = ()
    label: Texts = ()
    prompt: Texts = ()
    round: int = 0
    times: int = 0
    """How often it can be used in each role; 0 for always."""
    say: Texts = ()
    edits: tuple[ScriptEdit, ...] = ()
    fixes: tuple[ScriptFix, ...] = ()
    disobey: bool = False
    """Edit even where only reading was asked for."""
    seconds: float = 0
    answer: Any = None
    session: str = ""
    usage: Usage = Usage()
    opened: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    """Tool calls that its program is said to have refused."""
    fail: Failure | None = None


class Script(Struct, frozen=True, forbid_unknown_fields=True):
    lines: tuple[ScriptLine, ...]
    log: str = ""
    """A file, relative to the script, that gets a line of JSON for every finished ask."""


def load_script(path: Path) -> Script:
    """Load a script from a TOML (.toml) or JSON file. Raise SettingsError if it is invalid."""
    value = _parse_file(path)
    try:
        return msgspec.convert({"lines": value} if isinstance(value, list) else value, Script)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        where = place.strip(".`") or "script"
        raise SettingsError(f"{path}: {where}: {message}", hint=_HINT) from error


def _parse_file(path: Path) -> object:
    toml = path.suffix == ".toml"
    try:
        raw = path.read_bytes()
        return parse_toml(raw.decode()) if toml else parse_json(raw, object)
    except OSError as error:
        hint = "`script` in the agent's settings must name a script"
        raise SettingsError(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        form = "TOML" if toml else "JSON"
        raise SettingsError(f"{path}: not {form}: {error}", hint=_HINT) from error
