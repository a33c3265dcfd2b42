"""Decide what `punchlist ci` does about an event. Pure."""

from enum import StrEnum

from msgspec import Struct

from punchlist.app.ci.event import CiEvent, CiPlace, EventKind


class CiMode(StrEnum):
    """ANSWER: as `punchlist pr`. REPORT: the analyzers review, and the result is left in files and
    annotations. GATE: review what is to be merged. RELAY: show what a job without secrets left.
    """

    ANSWER = "answer"
    REPORT = "report"
    GATE = "gate"
    RELAY = "relay"
    NOTHING = "nothing"


class CiPlan(Struct, frozen=True, kw_only=True):
    """`restricted`: the code is a stranger's, so neither agents nor checks run."""

    place: CiPlace
    event: str
    mode: CiMode
    why: str
    pull: str = ""
    base: str = ""
    head: str = ""
    restricted: bool = False


def decide_mode(event: CiEvent, *, token: bool, shows: bool = True) -> CiPlan:
    """Return what to do; `token`: the job has one for the service; `shows`: punchlist can show runs
    on its pull requests.
    """
    mode, why = _choose_mode(event, token=token, shows=shows)
    return CiPlan(
        place=event.place,
        event=event.name,
        mode=mode,
        why=why,
        pull=event.url,
        base=event.base,
        head=event.head,
        restricted=mode is CiMode.REPORT or (mode is CiMode.ANSWER and event.fork),
    )


_GATES = {
    EventKind.GROUP: "what a merge queue is about to merge must pass",
    EventKind.PUSH: "pushed commits must pass",
}
_OWN = "the pull request is of no fork: its own job has shown the result"


def _choose_mode(event: CiEvent, *, token: bool, shows: bool) -> tuple[CiMode, str]:
    if event.kind in _GATES:
        return CiMode.GATE, _GATES[event.kind]
    relays = event.kind is EventKind.RELAY
    if event.kind is EventKind.NOTHING or (relays and not event.fork):
        return CiMode.NOTHING, event.why or _OWN
    if lack := _find_lack(event, token=token, shows=shows):
        whole = event.kind is EventKind.PULL
        return (CiMode.REPORT if whole else CiMode.NOTHING), lack
    if relays:
        return CiMode.RELAY, "a job without secrets has reported, and this one may write"
    return CiMode.ANSWER, "the job has a token for the pull request"


def _find_lack(event: CiEvent, *, token: bool, shows: bool) -> str:
    """Return why nothing can be shown on the pull request, or ""."""
    if not shows:
        return f"punchlist does not comment on {event.place} yet: the result is in files"
    if not event.secrets:
        whose = "of a fork" if event.fork else "of a bot that gets none"
        return f"the pull request is {whose}: the job has no secrets, and its token cannot write"
    return "" if token else "the job has no token (the setting track.token names its variable)"
