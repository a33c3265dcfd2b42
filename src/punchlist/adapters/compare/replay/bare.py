"""Make recorded calls again in a process of their own: no runner, another folder, other order."""

import secrets
import shutil
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.checks.environment import CheckoutContext, prepare_launch
from punchlist.adapters.checks.junit import read_untrusted
from punchlist.adapters.compare.replay.recording import HERE, VALUES, RecordedCall
from punchlist.adapters.folders.look import is_file, resolve_path
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.process.run import Origin, run
from punchlist.adapters.sandbox.sandbox import Rlimits
from punchlist.model.finding.guarded_text import parse_json
from punchlist.ports.tree import Tree

_SCRIPT = HERE / "child_replay.py"
_WATCH = HERE / "child_watch.py"
_SECONDS = 3.0
_MEMORY = 2 << 30
_LIMIT = 64 << 20
_LATER = 5 * 365 * 86400
_WARM = 1500
_HIDDEN = 200
_NAMES = ("app", "main", "server", "worker", "service", "cli", "manage", "task", "job", "start")
RECORDED = -1
"""The turn of a recorded call; its neighbours have turns from 0."""
Key = tuple[str, int]
"""A call by its key, and the turn."""


class Answer(Struct, frozen=True, array_like=True):
    """How one call ended: `value`, `yields`, `raise`, `late`, or `absent` where a file or a service
    is missing. `made` names the arguments; `limit`: all of them are empty, none, 0 or 1.
    """

    kind: str
    said: str
    effects: str = ""
    pleases: bool = False
    made: str = ""
    limit: bool = False
    leaves: tuple[str, ...] = ()
    clock: bool = False

    @property
    def usable(self) -> bool:
        return self.kind not in ("late", "absent")

    def differs(self, other: "Answer") -> bool:
        """Return whether the answers differ; two failures count as equal."""
        if not self.usable or not other.usable or self.made != other.made:
            return False
        if self.kind == other.kind == "raise":
            return False
        return (self.kind, self.said) != (other.kind, other.said)

    def has_other_effect(self, other: "Answer") -> bool:
        """Return whether anything differs, also the message of a failure or what was printed."""
        mine, theirs = (self.kind, self.said, self.effects), (other.kind, other.said, other.effects)
        return mine != theirs and self.made == other.made


class BareAnswers(Struct, frozen=True, kw_only=True):
    """The answers of one process, the functions that could not be found there, and what the code
    asked about the process.
    """

    calls: dict[Key, Answer] = {}
    unloaded: dict[tuple[str, str], str] = {}
    asks: frozenset[str] = frozenset()
    trouble: str = ""


class Manner(Struct, frozen=True):
    """How the calls are made: in which order, after how many others, and at which time; `watch`:
    whether it is noted what the code asks about its process; `more`: how many times as many similar
    calls are made.
    """

    reverse: bool = False
    warm: int = 0
    clock: int = 0
    watch: bool = False
    more: int = 1


PLAINLY = Manner()
THOROUGHLY = Manner(more=5)
LATER = Manner(reverse=True, warm=_WARM, clock=_LATER, watch=True)
AFTER_OTHERS = Manner(reverse=True, warm=_WARM)


class BarePlan(Struct, frozen=True, kw_only=True):
    """What every process of one examination has in common."""

    python: str
    calls: tuple[RecordedCall, ...]
    modules: tuple[str, ...]
    literals: tuple[int | float | str, ...]
    changed: frozenset[str] = frozenset()
    """Files of the patch; what they define is called many times before the calls that count."""
    data: tuple[str, ...] = ()
    """Files of the tests that are not code; the process does not see them."""
    nonce: str = msgspec.field(default_factory=lambda: secrets.token_hex(6))


async def call_bare(
    plan: BarePlan, tree: Tree, ground: CheckoutContext, manner: Manner
) -> BareAnswers:
    # No name tells the called code which process it is in.
    name = f"{secrets.choice(_NAMES)}{secrets.token_hex(secrets.randbelow(3))}"
    with temporary_folder(name[:3]) as made:
        folder = resolve_path(made)
        shutil.copyfile(_SCRIPT, folder / f"{name}.py")
        shutil.copyfile(VALUES, folder / f"{name}_values.py")
        shutil.copyfile(_WATCH, folder / f"{name}_watch.py")
        job, out, cwd = (f"{secrets.choice(_NAMES)}-{secrets.token_hex(4)}" for _ in range(3))
        (folder / cwd).mkdir()
        command = [plan.python, str(folder / f"{name}.py"), job]
        with prepare_launch(tree, ground, folder, command) as stage:
            (folder / job).write_bytes(_encode_job(plan, manner, stage.cwd, out))
            places = [stage.cwd / name for name in plan.data]
            data = [path for path in places if is_file(path)][:_HIDDEN]
            hidden = (*stage.sandbox.hidden, *data)
            limits = Rlimits(memory=_MEMORY, file_size=_LIMIT)
            env = {k: v for k, v in stage.env.items() if k not in ("CI", "PYTHONPATH")}
            ran = await run(
                command,
                origin=Origin.THEIRS,
                cwd=folder / cwd,
                env=env,
                walls=replace(stage.sandbox, hidden=hidden, rlimits=limits),
                timeout=_SECONDS * 10,
                limit=1 << 20,
                trim=True,
            )
        try:
            raw = read_untrusted(folder / out, _LIMIT)
        except OSError:
            lines = ran.stderr.decode(errors="replace").strip().splitlines()
            return BareAnswers(trouble=ran.trouble or (lines or ["no call was made"])[-1])
    return parse_answers(raw)


def _encode_job(plan: BarePlan, manner: Manner, root: Path, out: str) -> bytes:
    known = dict.fromkeys(part for call in plan.calls for part in call.path)
    own = [str(root / part) for part in known if "test" not in part]
    calls = [
        {"key": each.key, "module": each.module, "name": each.name, "input": each.input}
        for each in plan.calls
    ]
    warmed = [number for number, each in enumerate(plan.calls) if each.file in plan.changed]
    return msgspec.json.encode(
        {
            "calls": calls,
            "warmed": warmed or list(range(len(calls))),
            "modules": plan.modules,
            "literals": plan.literals,
            "nonce": plan.nonce,
            "root": str(root),
            "out": out,
            "path": list(dict.fromkeys([*own, str(root), str(root / "src")])),
            "argv": [secrets.choice(_NAMES), *secrets.choice(((), ("run",), ("--quiet",)))],
            "seconds": _SECONDS,
            **msgspec.structs.asdict(manner),
        }
    )


def parse_answers(raw: bytes) -> BareAnswers:
    """Parse the lines of one process; what it did not write was not answered."""
    calls: dict[Key, Answer] = {}
    unloaded: dict[tuple[str, str], str] = {}
    asks: frozenset[str] = frozenset()
    for line in raw.splitlines():
        try:
            match parse_json(line, object):
                case ["call", str(key), int(turn), *rest]:
                    calls[key, turn] = msgspec.convert(rest, Answer)
                case ["asks", *names]:
                    asks = frozenset(map(str, names))
                case ["unloaded", str(module), str(name), str(why), bool(absent)]:
                    unloaded[module, name] = "" if absent else why
                case _:
                    continue
        except (msgspec.MsgspecError, ValueError):
            continue
    return BareAnswers(calls=calls, unloaded=unloaded, asks=asks)
