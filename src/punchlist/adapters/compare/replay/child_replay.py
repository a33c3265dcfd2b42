"""Call functions with recorded arguments and similar ones; no test runner is in this process.

The project's own Python runs it by its path, so it imports nothing of punchlist and uses nothing
newer than Python 3.8.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import functools
import importlib
import importlib.util
import io
import itertools
import json
import logging
import os
import signal
import sys
import time
import types
import warnings
from pathlib import Path

TYPE_CHECKING = False  # typing takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

HERE = Path(__file__).resolve().parent
ITEMS = 2000
EACH = 0.5
SLOW = 4
LARGEST = 20000
STEADY = ("monotonic", "perf_counter", "process_time", "thread_time")
SPENT = time.process_time
ALIKE = 500
"""From this turn on, similar arguments have the same shape as the recorded ones."""


def load_sibling(name: str) -> Any:
    """Import a file of this folder without putting the folder on the path."""
    spec = importlib.util.spec_from_file_location(name, str(HERE / (name + ".py")))
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018  # it was copied here
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


values = load_sibling(Path(__file__).stem + "_values")
watching = load_sibling(Path(__file__).stem + "_watch")


class TooLong(BaseException):
    """Timeout of one call; a BaseException, so that the called code does not catch it."""


def ring(_signal: int, _frame: types.FrameType | None) -> None:
    raise TooLong


def find_function(module: str, name: str) -> Callable[..., Any]:
    """Return a function as its frames see it: methods with the object or class as an argument."""
    at: Any = importlib.import_module(module)
    for part in name.split("."):
        found = find_static(at, part) if isinstance(at, type) else getattr(at, part)
        if isinstance(found, (classmethod, staticmethod)):
            found = found.__func__
        at = found.fget if isinstance(found, property) else found
    return at  # type: ignore[no-any-return]


def find_static(kind: type, name: str) -> Any:
    """Return an attribute of a class as it was written, not as it is read."""
    for each in kind.__mro__:
        if name in vars(each):
            return vars(each)[name]
    raise AttributeError(name)


class Output:
    """What is printed; it goes to a file, as that of any program may do."""

    def __init__(self) -> None:
        self.file = os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o600)  # noqa: S108  # the sandbox's
        for number in (1, 2):
            os.dup2(self.file, number)

    def take(self) -> str:
        """Return the first of what was printed since the last time."""
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        with contextlib.suppress(OSError):
            text = os.pread(self.file, LARGEST, 0)
            os.lseek(1, 0, os.SEEK_SET)
            os.ftruncate(self.file, 0)
            return text.decode("utf-8", "replace")
        return ""


OUTPUT: list[Output] = []
FORMAT = logging.Formatter("%(levelname)s %(msg)r %(args)r")


def exhaust(got: Any) -> tuple[str, Any]:
    """Return the kind of an answer, and a lazy one as a list."""
    if isinstance(got, types.GeneratorType) or type(got) in (map, filter, zip, reversed, enumerate):
        return "yields", list(itertools.islice(got, ITEMS))
    return "value", got


def call(
    function: Callable[[], Any], args: list[Any], job: dict[str, Any], *, whole: bool, heard: bool
) -> list[Any]:
    """Return how one call ends, its answer with the arguments afterwards, its other effects, and
    whether the answer equals whatever it is compared with. `whole`: effects include the data of
    all modules that the call changes; `heard`: whether any of this is asked for.
    """
    if heard:
        OUTPUT[0].take()
    log = logging.StreamHandler(io.StringIO())
    log.setFormatter(FORMAT)
    before = describe_state(job["modules"]) if whole else {}
    places = (job["root"],)
    logging.getLogger().addHandler(log)
    signal.setitimer(signal.ITIMER_REAL, EACH)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            kind, got = exhaust(function())
        if not heard:
            return [kind]
        memo: dict[int, int] = {}
        said = values.describe(got, 0, memo) + " | " + values.describe(args, 0, memo)
        changed = describe_state(job["modules"]) if whole else {}
        state = "\n".join(
            f"{name}={text}" for name, text in sorted(changed.items()) if text != before.get(name)
        )
        notices = [str(each.message) for each in warned]
        effects = "\n".join([OUTPUT[0].take(), log.stream.getvalue(), *notices, state])
        pleases = values.claims_too_much(got, job["probes"])
        return [kind, values.shorten(said, places), values.shorten(effects, places), pleases]
    except TooLong:
        return ["late", "", "", False]
    except (MemoryError, RecursionError):
        return ["late", "", "", False]
    except OSError as error:
        return ["absent", type(error).__name__, "", False]
    except BaseException as error:  # how it fails is the answer
        return ["raise", type(error).__name__, str(error)[:200], False]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        logging.getLogger().removeHandler(log)


def plain_state(modules: list[str]) -> dict[str, Any]:
    """Return the data in the globals and classes of these modules."""
    kinds = (*values.PLAIN, *values.SEQUENCES)
    loaded = [(name, vars(sys.modules[name])) for name in modules if name in sys.modules]
    classes = [
        (module + "." + name, vars(each))
        for module, found in loaded
        for name, each in list(found.items())
        if isinstance(each, type) and each.__module__ == module
    ]
    return {
        where + "." + name: each
        for where, found in (*loaded, *classes)
        for name, each in list(found.items())
        if type(each) in kinds and not name.startswith("__")
    }


def describe_state(modules: list[str]) -> dict[str, str]:
    return {name: values.describe(each) for name, each in plain_state(modules).items()}


class Replay:
    """The calls of one job, and where their outcomes are written."""

    def __init__(self, job: dict[str, Any], out: TextIO) -> None:
        self.job, self.out = job, out
        self.functions: dict[tuple[str, str], Callable[..., Any] | None] = {}
        self.modules = frozenset(job["modules"])
        self.slow: dict[tuple[str, str], int] = {}
        self.given: set[tuple[str, str]] = set()

    def tell(self, *line: Any) -> None:
        self.out.write(json.dumps(line) + "\n")
        self.out.flush()

    def load(self) -> None:
        for each in self.job["calls"]:
            where = (each["module"], each["name"])
            if where in self.functions:
                continue
            try:
                self.functions[where] = find_function(*where)
            except BaseException as error:  # an import may end in any way
                self.functions[where] = None
                self.tell("unloaded", *where, type(error).__name__, isinstance(error, OSError))

    def unpack(self, each: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        args, keywords = values.Careful(base64.b64decode(each["input"]), self.modules).load()
        return args, keywords

    def list_work(self) -> list[tuple[dict[str, Any], int]]:
        """Return the recorded calls, then the similar ones: many for the first of a function."""
        calls, more = self.job["calls"], self.job["more"]
        work = [(each, -1) for each in calls]
        ranks: dict[tuple[str, str], int] = {}
        for each in calls:
            where = (each["module"], each["name"])
            rank = ranks[where] = ranks.get(where, 0) + 1
            near = 40 * more if rank <= 6 else 5 if rank <= 20 else 0
            work += [(each, n) for n in range(near)]
            work += [(each, ALIKE + n) for n in range(32 * more if rank <= 6 else 0)]
        return work

    def warm_up(self) -> None:
        """Call the functions many times with other arguments than the recorded ones."""
        until = SPENT() + 1
        warmed = self.job["warmed"]
        for turn in range(self.job["warm"]):
            each = self.job["calls"][warmed[turn % len(warmed)]]
            if SPENT() > until:
                return
            self.make_call(each, 1000 + turn, quiet=True)

    def make_call(self, each: dict[str, Any], turn: int, *, quiet: bool = False) -> None:
        where = (each["module"], each["name"])
        function = self.functions.get(where)
        if function is None or self.slow.get(where, 0) >= SLOW:
            return
        try:
            args, keywords = self.unpack(each)
            if 0 <= turn < ALIKE or turn >= 2 * ALIKE:
                args = values.vary(args, each["key"] + str(turn), self.job["literals"])
            elif turn >= 0:
                args = values.make_alike(args, each["key"] + str(turn))
            text = values.describe([args, keywords])
        except Exception:  # a class may refuse to be made again
            return
        if len(text) > LARGEST or (turn >= 0 and (each["name"], text) in self.given):
            return
        kinds = (*values.PLAIN, *values.SEQUENCES, *values.DAYS)
        plain = [arg for arg in args if type(arg) in kinds]
        apart = bool(plain) and all(map(values.is_limit, plain))
        leaves = [] if quiet else values.list_leaves(args)
        asked = CLOCK.asked
        bound = functools.partial(function, *args, **keywords)
        ended = call(bound, args, self.job, whole=turn < 0, heard=not quiet)
        self.slow[where] = self.slow.get(where, 0) + (ended[0] == "late")
        if not quiet:
            made = values.name_call(each["module"], each["name"], text)
            clock = CLOCK.asked > asked
            about = [made, apart, leaves, clock]
            self.tell("call", each["key"], turn, *ended, *about)

    def remember_given(self) -> None:
        """Note the recorded arguments: a similar call that is one of them says nothing."""
        for each in self.job["calls"]:
            with contextlib.suppress(Exception):
                args, keywords = self.unpack(each)
                self.given.add((each["name"], values.describe([args, keywords])))

    def run(self) -> None:
        self.load()
        CLOCK.ahead = self.job["clock"]
        self.remember_given()
        work = self.list_work()
        if self.job["reverse"]:
            work.reverse()
        if self.job["warm"] and self.job["calls"]:
            self.warm_up()
        until = SPENT() + self.job["seconds"]
        for each, turn in work:
            if SPENT() > until:
                break
            self.make_call(each, turn)
        self.tell("asks", *sorted(WATCH.asked))
        self.tell("end")


class Clock:
    """Answers for the usual ways to ask for the time, `ahead` seconds later than it is."""

    def __init__(self) -> None:
        self.ahead = self.asked = 0
        self.time, self.time_ns = time.time, time.time_ns
        self.local, self.gm = time.localtime, time.gmtime
        self.steady = {name: getattr(time, name) for name in STEADY}
        self.datetime, self.date = dt.datetime, dt.date

    def now(self) -> float:
        self.asked += 1
        return self.time() + self.ahead

    def install(self) -> None:
        """Stand in the place of the clock; code that is imported later asks this one."""
        time.time = self.now
        time.time_ns = lambda: self.time_ns() + int(self.now() - self.time()) * 10**9
        time.localtime = lambda at=None: self.local(self.now() if at is None else at)
        time.gmtime = lambda at=None: self.gm(self.now() if at is None else at)
        for name, steady in self.steady.items():
            setattr(time, name, lambda steady=steady: steady() + self.now() - self.time())
            setattr(time, name + "_ns", lambda name=name: int(getattr(time, name)() * 10**9))
        real, day = self.datetime, self.date
        dt.datetime = self.derive(  # type: ignore[misc]
            real,
            now=classmethod(lambda _, tz=None: real.fromtimestamp(self.now(), tz)),
            utcnow=classmethod(
                lambda _: real.fromtimestamp(self.now(), dt.UTC).replace(tzinfo=None)
            ),
            today=classmethod(lambda _: real.fromtimestamp(self.now())),
        )
        dt.date = self.derive(day, today=classmethod(lambda _: day.fromtimestamp(self.now())))  # type: ignore[misc]

    def derive(self, base: Any, **methods: Any) -> Any:
        """Return a class with other methods, of which the base's objects are instances, too."""
        check = {"__instancecheck__": lambda _, value: isinstance(value, base)}
        return type("Kind", (type,), check)(
            base.__name__, (base,), {"__module__": "datetime", **methods}
        )


CLOCK = Clock()


WATCH = watching.Watch(HERE)


def main() -> None:
    file = HERE / sys.argv[1]
    job = json.loads(file.read_text(encoding="utf-8"))
    file.unlink()  # the called code finds nothing that tells it where it is
    sys.path[:1] = job["path"]
    sys.argv = job["argv"]
    ring.__name__ = ring.__qualname__ = job["argv"][0]  # tells the called code nothing
    signal.signal(signal.SIGALRM, ring)
    job["probes"] = values.make_probes(job["nonce"], job["literals"])
    if job["clock"]:
        CLOCK.install()
    with (HERE / job["out"]).open("w", encoding="utf-8") as out:
        OUTPUT.append(Output())
        if job["watch"]:
            WATCH.install(job["root"])
        Replay(job, out).run()
    os._exit(0)  # what the called code left running does not count


if __name__ == "__main__":
    main()
