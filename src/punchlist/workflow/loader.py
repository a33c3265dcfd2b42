"""Parses YAML into a Workflow; every error names its file, path and remedy."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from punchlist.errors import WorkflowError
from punchlist.steps import VERBS
from punchlist.steps.support.batching import Options as PlanOptions
from punchlist.workflow.language import Do, OnLimit, Repeat, StopWhen, Until, Workflow

T = TypeVar("T", bound=Struct)

_LARGEST = 64 * 1024


class _Loop(Struct, frozen=True, forbid_unknown_fields=True):
    steps: list[Any]
    rounds: int = 3
    on_limit: OnLimit = OnLimit.GO_ON
    hard_cap: int = 5


PARSED = Path(__file__).with_name("builtin") / "parsed.json"


def builtin_names() -> list[str]:
    names = (entry.name for entry in _builtin_folder().iterdir())
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def _builtin_folder() -> Path:
    return Path(__file__).with_name("builtin")


def load_builtin(name: str) -> Workflow:
    if name not in builtin_names():
        what = f'no workflow is called "{name}"{_suggest_name(name, builtin_names())}'
        raise WorkflowError(what, hint="`punchlist workflows` lists them")
    file = f"{name}.yaml"
    return parse_workflow((_builtin_folder() / file).read_text("utf-8"), name, file)


def load_workflow(name: str) -> Workflow:
    """Load a built-in workflow by name, or a file by path (with a slash, .yaml or .yml)."""
    path = Path(name)
    if "/" not in name and path.suffix not in (".yaml", ".yml"):
        return load_builtin(name)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkflowError(
            f"{name}: cannot be read: {error}",
            hint="give the path of a workflow file, or the name of a built-in one",
        ) from error
    return parse_workflow(text, path.stem, name)


@lru_cache(maxsize=32)
def parse_workflow(text: str, name: str, origin: str) -> Workflow:
    data = _parse_yaml(text, origin)
    known = ["about", "steps"]
    mistakes = [
        f"{origin}: {key}: unknown key{_suggest_name(str(key), known)}"
        for key in sorted(set(data) - set(known), key=str)
    ]
    about = data.get("about", "")
    if not isinstance(about, str):
        mistakes.append(f"{origin}: about: must be a line of text")
    listed = data.get("steps")
    if not isinstance(listed, list) or not listed:
        raise WorkflowError(
            f"{origin}: steps: must be a list with at least one step",
            hint="see `punchlist workflows show proven`",
        )
    steps = _parse_elements(listed, f"{origin}: steps", mistakes, outer=True)
    if not mistakes and not _ends_with_report(steps):
        why = "without it what is left is neither filed nor listed"
        mistakes.append(f"{origin}: steps: must end with `report`; {why}")
    if mistakes:
        hint = "`punchlist workflows show proven` prints one that works"
        raise WorkflowError("\n".join(mistakes), hint=hint)
    outer = tuple(step for step in steps if isinstance(step, Do | Repeat))
    return Workflow(name, about.strip(), outer, text)


def _ends_with_report(steps: list[Do | Repeat | StopWhen]) -> bool:
    last = steps[-1]
    return isinstance(last, Do) and VERBS[last.verb].last


def _parse_yaml(text: str, origin: str) -> Mapping[Any, Any]:
    if len(text) > _LARGEST:
        size = f"{len(text)} characters"
        raise WorkflowError(f"{origin}: {size} is no workflow; the limit is {_LARGEST}")
    known = load_parsed().get(hash_text(text))
    return _decode_yaml(text, origin) if known is None else known


@cache
def load_parsed() -> Mapping[str, Mapping[str, Any]]:
    """Return what the built-in workflows say, by the hash of their text: to import a parser of YAML
    for them takes longer than to parse them.
    """
    found: Mapping[str, Mapping[str, Any]] = msgspec.json.decode(PARSED.read_bytes())
    return found


def hash_text(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _decode_yaml(text: str, origin: str) -> Mapping[Any, Any]:
    from punchlist.model.finding.guarded_text import Unparsable
    from punchlist.model.finding.guarded_yaml import AliasUsed, parse_yaml

    try:
        data = parse_yaml(text, aliases=False)
    except AliasUsed as error:
        raise WorkflowError(f"{origin}: {error}", hint="write the step out") from error
    except Unparsable as error:
        cause = error.__cause__ or error
        mark = getattr(cause, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}:" if mark else ""
        problem = getattr(cause, "problem", None) or error
        what = f"{origin}:{where} not YAML: {problem}"
        raise WorkflowError(what, hint="see `punchlist workflows show proven`") from error
    if not isinstance(data, dict):
        raise WorkflowError(
            f"{origin}: must have `about` and `steps`", hint="see `punchlist workflows show proven`"
        )
    return data


def _parse_elements(
    listed: Iterable[Any], path: str, mistakes: list[str], *, outer: bool
) -> list[Do | Repeat | StopWhen]:
    steps = []
    for index, element in enumerate(listed):
        where = f"{path}[{index}]"
        if isinstance(element, str):
            element = {element: None}  # noqa: PLW2901 - `- plan` is short for `- plan: {}`
        if not isinstance(element, dict) or len(element) != 1:
            mistakes.append(f"{where}: must be one `verb: {{options}}`")
            continue
        ((key, value),) = element.items()
        step = _parse_element(str(key), value, where, mistakes, outer=outer)
        if step is not None:
            steps.append(step)
    return steps


def _parse_element(
    key: str, value: Any, where: str, mistakes: list[str], *, outer: bool
) -> Do | Repeat | StopWhen | None:
    read = _FORMS.get(key)
    if read is None and key not in VERBS:
        close = _suggest_name(key, [*VERBS, *_FORMS])
        mistakes.append(f'{where}: no verb is called "{key}"{close}')
        return None
    if (key == "repeat") != outer and key in _FORMS:
        place = "only inside repeat" if key == "stop-when" else "not inside another repeat"
        mistakes.append(f"{where}.{key}: belongs {place}")
        return None
    if read is not None:
        return read(value, f"{where}.{key}", mistakes)
    return _parse_step(key, value, f"{where}.{key}", mistakes)


def _parse_step(verb: str, value: Any, where: str, mistakes: list[str]) -> Do | None:
    kind = VERBS[verb].options
    options = _convert_options({} if value is None else value, kind, where, mistakes)
    return None if options is None else Do(verb, options)


def _parse_repeat(value: Any, where: str, mistakes: list[str]) -> Repeat | None:
    loop = _convert_options({} if value is None else value, _Loop, where, mistakes)
    if loop is None:
        return None
    if loop.rounds < 1:
        mistakes.append(f"{where}.rounds: must be at least 1; zero rounds prove nothing")
    body = _parse_elements(loop.steps, f"{where}.steps", mistakes, outer=False)
    stops = sum(isinstance(step, StopWhen) for step in body)
    if stops != 1:
        mistakes.append(f"{where}.steps: needs exactly one `stop-when`, has {stops}")
    steps = tuple(step for step in body if not isinstance(step, Repeat))
    return Repeat(loop.rounds, loop.on_limit, max(loop.hard_cap, loop.rounds), steps)


def _parse_stop(value: Any, where: str, mistakes: list[str]) -> StopWhen | None:
    known = [until.value for until in Until]
    if value not in known:
        wrong = f"{value!r} is no condition{_suggest_name(str(value), known)}"
        mistakes.append(f"{where}: {wrong}; there are {', '.join(known)}")
        return None
    return StopWhen(Until(value))


_FORMS: dict[str, Callable[[Any, str, list[str]], Repeat | StopWhen | None]] = {
    "repeat": _parse_repeat,
    "stop-when": _parse_stop,
}


def _convert_options(value: Any, kind: type[T], where: str, mistakes: list[str]) -> T | None:
    if isinstance(value, dict):
        fields = [field.encode_name for field in msgspec.structs.fields(kind)]
        unknown = [str(key) for key in value if key not in fields]
        close = {key: _suggest_name(key, fields) for key in unknown}
        mistakes += (f"{where}.{key}: no such option{name}" for key, name in close.items())
        value = {key: entry for key, entry in value.items() if key in fields}
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        mistakes.append(f"{where}{path.rstrip('`')}: {message}")
        return None


def _suggest_name(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def with_options(workflow: Workflow, options: Mapping[str, Mapping[str, Any]]) -> Workflow:
    """Return the workflow with these options of the steps of each verb, and its text with them."""
    data = load_text(workflow)
    data["steps"] = [_set_options(step, options) for step in data["steps"]]
    return parse_again(workflow, data, "with other options")


def _set_options(step: Any, options: Mapping[str, Mapping[str, Any]]) -> Any:
    verb, given = next(iter(step.items())) if isinstance(step, dict) else (step, {})
    if verb == "repeat":
        inner = [_set_options(each, options) for each in given["steps"]]
        return {verb: {**given, "steps": inner}}
    return {verb: {**(given or {}), **options[verb]}} if verb in options else step


def with_rounds(workflow: Workflow, rounds: int) -> Workflow:
    """Return the workflow, and its text that a run pins, with every loop limited to `rounds`."""
    if rounds < 1:
        why = f"{workflow.name}: {rounds} rounds prove nothing"
        raise WorkflowError(why, hint="ask for at least one")
    loops = [step for step in workflow.steps if isinstance(step, Repeat)]
    if all(loop.rounds == rounds for loop in loops):
        return workflow
    data = load_text(workflow)
    for step in data["steps"]:
        if isinstance(step, dict) and "repeat" in step:
            loop = step["repeat"]
            _follow_rounds(loop, rounds)
            loop["rounds"] = rounds
            loop["hard_cap"] = max(rounds, loop.get("hard_cap", 0))
    return parse_again(workflow, data, f"with {rounds} rounds")


def _follow_rounds(loop: dict[str, Any], rounds: int) -> None:
    """Let attempts that last for all rounds of the loop last for `rounds`, too."""
    steps, before = loop["steps"], loop.get("rounds", _Loop(steps=[]).rounds)
    for index, step in enumerate(steps):
        named: dict[str, Any] = {step: None} if isinstance(step, str) else step
        if "plan" in named:
            options = {"attempts": PlanOptions().attempts, **(named["plan"] or {})}
            if before <= options["attempts"] < rounds:
                steps[index] = {"plan": {**options, "attempts": rounds}}


def load_text(workflow: Workflow) -> dict[str, Any]:
    """Return what the text of the workflow says, to be changed."""
    from punchlist.model.finding.guarded_yaml import parse_yaml

    data: dict[str, Any] = parse_yaml(workflow.text)
    return data


def parse_again(workflow: Workflow, data: dict[str, Any], how: str) -> Workflow:
    """Return the workflow with another text, which a run pins."""
    import yaml

    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000)
    return parse_workflow(text, workflow.name, f"{workflow.name} {how}")
