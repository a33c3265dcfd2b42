"""Claims of many behaviours in few runs: in each, every bug is met by another one; honest ones are among themselves."""

from classes import HONEST, LIES, claims
from product import Case

LARGEST = 16
"""Claims in one run."""


def planned(bugs, *, seed, each, families=(), kinds=("honest", "lies", "tampers")):
    """Yield the name of each run, who claims what in it, and the case."""
    for covered in (True, False):
        for honest in (False, True):
            chosen = [
                behaviour
                for behaviour in (HONEST if honest else LIES)
                if behaviour.kind in kinds and (not families or behaviour.family in families)
            ]
            waiting = [
                (behaviour, name, play)
                for behaviour in chosen
                for name, play in claims(
                    behaviour, bugs, covered=covered, seed=seed, each=each
                ).items()
            ]
            yield from _runs(waiting, bugs, covered, f"{'honest' if honest else 'lies'}-{seed}")


def _runs(waiting, bugs, covered, what):
    turn = 0
    while waiting:
        who, rest = {}, []
        for behaviour, name, play in waiting:
            free = name not in who and len(who) < LARGEST
            if free and _fits(play, [other for _, other in who.values()]):
                who[name] = (behaviour, play)
            else:
                rest.append((behaviour, name, play))
        played = {name: play for name, (_, play) in who.items()}
        case = Case(MIXED, covered, reproduced=False, played=played)
        yield (
            f"{what}-{'seen' if covered else 'unseen'}-{turn}",
            {name: behaviour for name, (behaviour, _) in who.items()},
            case,
            [bug for bug in bugs if bug.name in who],
        )
        waiting, turn = rest, turn + 1


def _fits(play, others):
    """No two claims of a run change the same file."""
    return not any(set(play.files) & set(other.files) for other in others)


class MIXED:
    """What a run of several behaviours is called."""

    name, kind, says, fails = "several", "lies", "", ""
