"""What the agents of a run spend, counted while their calls run, and the limit that they share."""

from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.folders.look import is_folder
from punchlist.adapters.store.atomic_write import write_atomic
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.item.usage import UNKNOWN_COST, Usage


class Measured(Struct, frozen=True, kw_only=True):
    """Usage that an event of an agent's stream reports.

    Later usage under the same key replaces the earlier one; usage under other keys is added.
    """

    key: str
    usage: Usage
    continues: bool = True
    """Whether the agent will go on working; if not, its answer comes next."""
    of_session: bool = False
    """Whether it counts the whole session, not only this call."""


class Spending:
    """The money of one run: `earlier` dollars, and what its calls in this process spend.

    What a call has spent so far is in a file in `folder` until its reply is returned, so that the
    cost of a call that is cancelled or killed is known.
    """

    def __init__(
        self, folder: Path | None = None, *, limit: float = 0, earlier: Usage | None = None
    ) -> None:
        self._folder = folder
        self._open: dict[str, Usage] = {}
        self._elsewhere: dict[str, float] = {}
        self._cut = Usage()
        self.limit = limit
        self._earlier = earlier or Usage()
        self._spent = sum(self._read_cut().values(), Usage())

    @property
    def dollars(self) -> float:
        return self._earlier.dollars + self.own_dollars + sum(self._elsewhere.values())

    @property
    def own_dollars(self) -> float:
        """What the calls of this process spent."""
        return self._spent.dollars + self.unfinished.dollars

    @property
    def unfinished(self) -> Usage:
        """What the calls that have not ended used so far."""
        return sum((replace(usage, cut=1) for usage in self._open.values()), Usage())

    def set_earlier(self, dollars: float) -> None:
        """Note what the run spent outside of this process."""
        self._earlier = replace(self._earlier, dollars=dollars)

    def set_elsewhere(self, place: str, dollars: float) -> None:
        """Note what the run spends in another process at this moment."""
        self._elsewhere[place] = dollars

    def end_elsewhere(self, place: str, usage: Usage, cut: Usage) -> None:
        """Add what another process has spent; `cut` is what no event of it will tell."""
        self._elsewhere.pop(place, None)
        self._spent += usage + cut
        self._cut += cut

    @property
    def left(self) -> float:
        """Dollars that may still be spent; 0 also if there is no limit."""
        return max(0.0, self.limit - self.dollars)

    def refusal_reason(self) -> str:
        """Return why no call may begin or go on, or ''."""
        if self.limit and self.dollars >= self.limit:
            return f"the money limit of ${self.limit:g} is reached (${self.dollars:.3f} spent)"
        if self.limit and (self._earlier + self._spent).unpriced:
            return f"the money limit of ${self.limit:g} cannot be kept: {UNKNOWN_COST}"
        return ""

    def open_call(self, price: Callable[[Usage], Usage]) -> "CallMeter":
        return CallMeter(self, token_hex(8), price)

    def set_open(self, call: str, usage: Usage) -> None:
        """Note what an unfinished call has spent so far."""
        self._open[call] = usage

    def save_open(self, call: str) -> None:
        """Write down what was noted of a call, if it is unfinished."""
        if self._folder is not None and call in self._open:
            cut = replace(self._open[call], cut=1)
            write_atomic(self._folder / f"{call}.json", msgspec.json.encode(cut))

    def close_call(self, call: str, usage: Usage | None) -> None:
        """Add a finished call; without `usage` it was cancelled, and its file stays."""
        known = self._open.pop(call, Usage())
        self._spent += known if usage is None else usage
        if usage is not None and self._folder is not None:
            (self._folder / f"{call}.json").unlink(missing_ok=True)

    def collect_cut(self) -> Usage:
        """Return the usage of cancelled and killed calls, once."""
        cut = self._read_cut()
        for path in cut:
            path.unlink(missing_ok=True)
        told, self._cut = self._cut, Usage()
        return sum(cut.values(), told)

    def _read_cut(self) -> dict[Path, Usage]:
        if self._folder is None or not is_folder(self._folder):
            return {}
        paths = [path for path in self._folder.glob("*.json") if path.stem not in self._open]
        return {path: read_usage_file(path) for path in paths}


class CallMeter:
    """The usage of one call so far: as the agent's output reports it, and as the proxy counts it in
    the answers of the model, where these pass through it in clear.
    """

    def __init__(self, spending: Spending, call: str, price: Callable[[Usage], Usage]) -> None:
        self._spending = spending
        self._call = call
        self._price = price
        self._parts: dict[str, Usage] = {}
        self._answers: dict[int, Usage] = {}
        self._reported = Usage()
        self.of_session = False
        self.refused = ""
        """Why a request to the model was refused at the proxy."""

    @property
    def usage(self) -> Usage:
        """The usage of this call, with its price: what was reported or counted, if that is more."""
        counted = sum(self._answers.values(), Usage())
        return larger_usage(self._price(self._reported), self._price(counted))

    def add(self, measured: Measured, before: Callable[[Usage], Usage]) -> str:
        """Add what an event reports; return why the call must be stopped, or ''.

        `before` subtracts what the session had spent before this call.
        """
        self._parts[measured.key] = measured.usage
        self.of_session = measured.of_session
        total = sum(self._parts.values(), Usage())
        self._reported = before(total) if measured.of_session else total
        self._spending.set_open(self._call, self.usage)
        self.save()
        return self._spending.refusal_reason() if measured.continues else ""

    def check_request(self) -> str:
        """Return why the model may not be asked again, or ''."""
        self.refused = self.refused or self._spending.refusal_reason()
        return self.refused

    def set_answer(self, answer: int, usage: Usage) -> None:
        """Note what an answer of the model has used so far."""
        self._answers[answer] = usage
        self._spending.set_open(self._call, self.usage)

    def save(self) -> None:
        """Write down what was noted."""
        self._spending.save_open(self._call)

    def close(self, usage: Usage | None) -> None:
        self._spending.close_call(self._call, usage)


def larger_usage(one: Usage, other: Usage) -> Usage:
    """Return the usage that costs more, or without prices has more tokens."""
    return max(one, other, key=lambda each: (each.dollars, each.input_tokens + each.output_tokens))


def read_usage_file(path: Path) -> Usage:
    try:
        return parse_json(path.read_bytes(), Usage)
    except (OSError, msgspec.DecodeError):
        return Usage()
