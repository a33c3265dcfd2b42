"""Find the evidence of a commit, and hold it to the laws of the ledger and to the commit."""

from hashlib import sha256

from msgspec import MsgspecError, Struct

from punchlist.adapters.git.notes import read_note
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.after.prove.ledger_patches import Landing
from punchlist.app.session import Session
from punchlist.errors import PunchlistError, UsageError
from punchlist.model.item.item import Fact, Item
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.commit_trailers import CommitTrailers, ItemProofs
from punchlist.model.ledger.fold import begin, fold
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.verify_ledger import Ledger


class Evidence(Struct, frozen=True):
    """What the ledger says of a commit. All of it but `claims` was written before the commit, and
    the hash in its trailer covers it.
    """

    run: Run
    """The run as it was when the commit was made."""
    claims: ItemProofs
    examined: dict[int, tuple[Proof, ...]]
    reproduced: dict[int, ev.Reproduced]
    digest: str
    batches: tuple[int, ...] = ()
    """The batches that are said to be in the commit."""
    landings: tuple[Landing, ...] = ()
    """The patches of all batches that landed until then, as they were before the commit."""
    late: frozenset[int] = frozenset()
    """Items that were found only after another fix of the same commit: the parent lacks them."""

    def find_item(self, number: int) -> Item | None:
        return self.run.items.get(number)

    def find_proof(self, number: int, kind: ProofClass) -> Proof | None:
        known = self.examined.get(number, ())
        return next((proof for proof in known if proof.kind is kind), None)


class EvidenceFault(Struct, frozen=True):
    """Why there is none to go by. `altered`: it contradicts the commit or itself."""

    why: str
    altered: bool = False


async def find_evidence(
    session: Session, workshop: Workshop, commit: str, run: str, given: bytes | None
) -> bytes | None:
    """Return the evidence: the given file, else the commit's note, else our own ledger."""
    if given is not None:
        return given
    note = await read_note(workshop, commit)
    if note is not None:
        return note
    try:
        return b"".join(session.store.export(session.store.find_run(run)))
    except PunchlistError:
        return None


def read_evidence(
    content: bytes | None, commit: str, trailers: CommitTrailers
) -> Evidence | EvidenceFault:
    """Parse and verify the evidence; nothing in it is used unless the commit names its ledger."""
    if content is None:
        return EvidenceFault(
            f"there is no evidence of run {trailers.run} here: fetch refs/notes/punchlist, or give"
            " --evidence FILE"
        )
    ledger = Ledger()
    lines = content.splitlines()
    for line in lines:
        ledger.add_line(line)
    if ledger.run and ledger.run != trailers.run:
        return EvidenceFault(f"the evidence is of run {ledger.run}, not of {trailers.run}")
    ledger.close(anchors={trailers.ledger: "the commit"})
    if ledger.problems:
        return EvidenceFault(f"the evidence was altered: {ledger.problems[0]}", altered=True)
    try:
        return _collect(lines, commit, trailers, sha256(content).hexdigest())
    except (UsageError, MsgspecError, LookupError, ValueError, TypeError) as error:
        return EvidenceFault(f"the evidence cannot be read: {error}")


def _collect(
    lines: list[bytes], commit: str, trailers: CommitTrailers, digest: str
) -> Evidence | EvidenceFault:
    entries = [wire.decode(line, ev.Entry) for line in lines]
    at = next(place for place, each in enumerate(entries, 1) if each.hash == trailers.ledger)
    batches, claims = _find_claims(entries, commit)
    if not batches:
        return EvidenceFault(
            "the ledger knows no such commit: it was altered, rebased or made anew after punchlist"
            " had made it"
        )
    if (tuple(claims), claims) != (trailers.items, trailers.proofs):
        return EvidenceFault(
            "its trailers claim something else than the ledger says of it", altered=True
        )
    before = entries[:at]
    examined: dict[int, tuple[Proof, ...]] = {}
    reproduced: dict[int, ev.Reproduced] = {}
    for event in (entry.event for entry in before):
        if isinstance(event, ev.Examined):
            examined |= event.proofs
        elif isinstance(event, ev.Reproduced) and event.red:
            reproduced[event.item] = event
    run, landings = _replay(trailers.run, entries, at, batches)
    late = _find_late(before, batches)
    return Evidence(run, claims, examined, reproduced, digest, batches, landings, late)


def _replay(
    name: str, entries: list[ev.Entry], at: int, batches: tuple[int, ...]
) -> tuple[Run, tuple[Landing, ...]]:
    """Return the run as it was at the commit's anchor, and what landed until all of the batches
    had. Patches are taken from before the anchor only: what is after it could be written anew.
    """
    lines = iter(entries[:at])
    run = begin(name, lines)
    landings: list[Landing] = []
    for entry in lines:
        if isinstance(entry.event, ev.Committed):
            landings.append(_pick_patches(run, entry.event))
        run = fold(run, entry)
    landed = {number for each in landings for number, _ in each.patches}
    later = (each.event for each in entries[at:] if isinstance(each.event, ev.Committed))
    for event in later:
        if landed.issuperset(batches):
            break
        landings.append(_pick_patches(run, event))
        landed.update(each.batch for each in event.landed)
    return run, tuple(landings)


def _pick_patches(run: Run, event: ev.Committed) -> Landing:
    known = run.work.patches
    numbers = [each.batch for each in event.landed]
    return Landing(tuple((number, known[number]) for number in numbers if number in known))


def _find_claims(entries: list[ev.Entry], commit: str) -> tuple[tuple[int, ...], ItemProofs]:
    """Return the batches that the ledger says are in the commit, none if it does not know it, and
    by item the classes of proof.
    """
    made: dict[int, tuple[str, ItemProofs]] = {}
    groups: dict[str, tuple[int, ...]] = {}
    for event in (entry.event for entry in entries):
        if isinstance(event, ev.Committed):
            for each in event.landed:
                made[each.batch] = each.commit, _read_moves(event, each)
        elif isinstance(event, ev.Published):
            groups |= event.commits
    batches = groups.get(commit) or tuple(n for n, known in made.items() if known[0] == commit)
    joined: ItemProofs = {}
    for number in batches:
        joined |= made[number][1]
    alone = len(batches) == 1
    return batches, joined if alone else {item: joined[item] for item in sorted(joined)}


def _find_late(entries: list[ev.Entry], batches: tuple[int, ...]) -> frozenset[int]:
    """Return the items that were found after the first of the batches was committed."""
    found: list[int] = []
    begun = False
    for event in (entry.event for entry in entries):
        if isinstance(event, ev.Committed):
            begun = begun or any(each.batch in batches for each in event.landed)
        elif isinstance(event, ev.Consolidated) and begun:
            found += [item.number for item in event.items]
    return frozenset(found)


def _read_moves(event: ev.Committed, landed: ev.Landed) -> ItemProofs:
    moves = {
        move.item: tuple(dict.fromkeys(proof.kind for proof in move.proofs))
        for move in event.moves
        if move.fact is Fact.COMMITTED and move.ref == landed.commit
    }
    return {item: moves.get(item, ()) for item in landed.items}
