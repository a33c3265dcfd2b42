"""Logical tool calls of a script, translated to whatever the calling agent offers, so that one script drives them all."""

import json
from collections.abc import Callable, Mapping
from typing import Any

Block = dict[str, Any]
Offered = Mapping[str, Any]

SHELLS = (
    "Bash",
    "bash",
    "run_shell_command",
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
)
READERS = {"Read": "file_path", "read": "filePath", "read_file": "file_path", "view": "path"}
WRITERS = {
    "Write": ("file_path", "content"),
    "write": ("filePath", "content"),
    "write_file": ("file_path", "content"),
    "create": ("path", "file_text"),
}
EDITORS = {
    "Edit": ("file_path", "old_string", "new_string"),
    "edit": ("filePath", "oldString", "newString"),
    "replace": ("file_path", "old_string", "new_string"),
}
FINALS = ("StructuredOutput", "structured_output")


def blocks_of(step: Mapping[str, Any], offered: Offered) -> list[Block]:
    """What a step of the script says, in the words of the agent that asked."""
    blocks = [_block(block, offered) for block in step.get("blocks") or [step]]
    return [
        block for block in blocks if block.keys() & {"text", "tool", "thinking", "local_shell"}
    ] or [{"text": "ok"}]


def _block(block: Block, offered: Offered) -> Block:
    if "json" in block:
        return {"text": json.dumps(block["json"])}
    logical = LOGICAL.get(str(block.get("tool")))
    return logical(block.get("input", {}), offered) if logical else block


def _first(names: Mapping[str, Any] | tuple[str, ...], offered: Offered) -> str:
    return next((name for name in names if name in offered), "")


def _code_mode(offered: Offered) -> bool:
    """The newest Codex models get one tool that runs JavaScript, with the real tools as an object in it."""
    return "exec" in offered and "exec_command" not in offered


_PATIENCE = 120_000
"""Milliseconds: a command that takes longer is left to itself, and the script goes on; a busy machine must not bring that about."""


def _script(call: str, offered: Offered) -> Block:
    patient = f'// @exec: {{"yield_time_ms": {_PATIENCE}}}'
    return {
        "tool": "exec",
        "input": f"{patient}\nconst r = await tools.{call};\ntext(r);",
        "namespace": offered["exec"].get("_ns"),
    }


def shell(wanted: Block, offered: Offered) -> Block:
    command = wanted["cmd"]
    if _code_mode(offered):
        return _script(
            f"exec_command({json.dumps({'cmd': command, 'yield_time_ms': _PATIENCE})})", offered
        )
    name = _first(SHELLS, offered)
    if name == "exec_command":
        return {"tool": name, "input": {"cmd": command, "yield_time_ms": _PATIENCE}}
    if name == "shell":
        return {"tool": name, "input": {"command": ["bash", "-lc", command]}}
    if name == "local_shell":
        return {"local_shell": ["bash", "-lc", command]}
    given: Block = {"command": command, "description": "scripted step"}
    if name == "run_shell_command" and "is_background" in json.dumps(offered[name]):
        given["is_background"] = False
    return {"tool": name or "bash", "input": given}


def read(wanted: Block, offered: Offered) -> Block:
    name = _first(READERS, offered)
    if not name:
        return shell({"cmd": f"cat {wanted['path']}"}, offered)
    key = "absolute_path" if "absolute_path" in json.dumps(offered[name]) else READERS[name]
    return {"tool": name, "input": {key: wanted["path"]}}


def write(wanted: Block, offered: Offered) -> Block:
    path, content = wanted["path"], wanted["content"]
    if name := _first(WRITERS, offered):
        return {"tool": name, "input": dict(zip(WRITERS[name], (path, content), strict=True))}
    return _patched(_patch(path, content, None), offered) or shell(
        {"cmd": f"cat > {path} <<'STUB_EOF'\n{content.rstrip(chr(10))}\nSTUB_EOF"}, offered
    )


def edit(wanted: Block, offered: Offered) -> Block:
    path, old, new = wanted["path"], wanted["old"], wanted["new"]
    if name := _first(EDITORS, offered):
        shape = json.dumps(offered[name])
        keys = next(
            (
                keys
                for keys in (*EDITORS.values(), ("path", "old_str", "new_str"))
                if f'"{keys[1]}"' in shape
            ),
            EDITORS[name],
        )
        extra = {"instruction": "scripted edit"} if name == "replace" else {}
        return {"tool": name, "input": {**dict(zip(keys, (path, old, new), strict=True)), **extra}}
    return _patched(_patch(path, new, old), offered) or shell(
        {"cmd": _python_edit(path, old, new)}, offered
    )


def final(wanted: Block, offered: Offered) -> Block:
    """The agent's own tool for structured answers where it offers one, else the answer as JSON text."""
    name = _first(FINALS, offered)
    if not name:
        return {"text": json.dumps(wanted)}
    tool = offered[name]
    schema = tool.get("input_schema") or tool.get("parameters") or {}
    return {"tool": name, "input": _filled(wanted, schema)}


_EMPTY: Mapping[str, Any] = {
    "string": "",
    "integer": 0,
    "array": [],
    "object": {},
    "boolean": False,
}


def _filled(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value with something empty for what the schema requires and the script leaves out."""
    if isinstance(value, list):
        return [_filled(each, schema.get("items", {})) for each in value]
    if not isinstance(value, dict):
        return value
    parts = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    empty = {name: _EMPTY.get(str(parts[name].get("type"))) for name in missing if name in parts}
    return {name: _filled(each, parts.get(name, {})) for name, each in {**value, **empty}.items()}


def _patched(patch: str, offered: Offered) -> Block | None:
    if _code_mode(offered):
        return _script(f"apply_patch({json.dumps(patch)})", offered)
    return {"tool": "apply_patch", "input": patch} if "apply_patch" in offered else None


def _patch(path: str, new: str, old: str | None) -> str:
    """The envelope of Codex' patch tool."""

    def marked(sign: str, text: str) -> str:
        return "\n".join(sign + line for line in text.rstrip("\n").split("\n"))

    body = (
        f"*** Add File: {path}\n"
        if old is None
        else f"*** Update File: {path}\n@@\n{marked('-', old)}\n"
    )
    return f"*** Begin Patch\n{body}{marked('+', new)}\n*** End Patch"


def _python_edit(path: str, old: str, new: str) -> str:
    code = f"import pathlib;p=pathlib.Path({path!r});s=p.read_text();assert {old!r} in s;p.write_text(s.replace({old!r},{new!r},1))"
    return "python3 -c " + json.dumps(code).replace("$", "\\$").replace("`", "\\`")


LOGICAL: Mapping[str, Callable[[Block, Offered], Block]] = {
    "@shell": shell,
    "@read": read,
    "@write": write,
    "@edit": edit,
    "@final": final,
}
