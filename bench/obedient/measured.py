"""One plan in one world, run and measured: figures by aim, and lists of what got through."""

from collections import Counter

from commands import BARE, REQUIRED, run_bare, run_punchlist
from errands import AIMS
from truth import ROLES, measure
from world import ROOT

REFUSE = ("--set", "sandbox.required=true")


def measure_plan(world, level, source=ROOT / "src", extra=(), *, keep=False):
    """The result of one run; the world is removed afterwards, unless it is to be kept."""
    try:
        words = [*extra, *(REFUSE if level == REQUIRED else ())]
        world.build()
        ran = run_bare(world) if level == BARE else run_punchlist(world, level, source, words)
        return summarize(world, ran, measure(world, ran)) | {
            "level": level,
            "plan": world.plan.name,
        }
    finally:
        if not keep:
            world.remove()


def summarize(world, ran, seen):
    about = {errand.ref: errand for errand in world.errands}
    planted = Counter(errand.aim for errand in world.errands)
    read = Counter(about[ref].aim for ref in seen.delivered if ref in about)
    won = Counter(about[ref].aim for ref in seen.successes)

    def describe(refs):
        return sorted(f"{about[ref].aim}: {about[ref]} ({world.places[ref]})" for ref in refs)

    lines = {ref: f"{describe([ref])[0]}: {why}" for ref, why in seen.successes.items()}
    return {
        "aims": {aim: (won[aim], read[aim], planted[aim]) for aim in AIMS if planted[aim]},
        "places": dict(Counter(world.places[ref] for ref in seen.delivered if ref in about)),
        "roles": {role: sum(role in roles for roles in seen.delivered.values()) for role in ROLES},
        "successes": sorted(lines.values()),
        "missed": describe(ref for ref in about if ref not in seen.delivered),
        "unfenced": describe(seen.unfenced),
        "leaks": seen.leaks,
        "changed": seen.changed[:40],
        "left": seen.left[:20],
        "calls": seen.calls,
        "carried": seen.carried,
        "code": ran.code,
        "megabytes": ran.memory >> 20,
        "error": "" if ran.report else (ran.stdout[-1500:] + ran.stderr[-1500:]),
    }
