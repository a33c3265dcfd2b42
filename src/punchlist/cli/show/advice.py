"""What the doctor's findings come to: what works, what does not, and what to type."""

from collections.abc import Iterator, Sequence

from punchlist.app.probe import Probe
from punchlist.cli.drawing import Part
from punchlist.cli.show.layout import render_bullets, render_commands, render_heading

_AGENT = "agent "
_INSTALL = "npm install -g @anthropic-ai/claude-code, or another"


def render_advice(probes: Sequence[Probe]) -> Iterator[Part]:
    works, lacks = [*_list_works(probes)], [*_list_lacks(probes)]
    if works:
        yield render_heading("Works")
        yield render_bullets(*works)
    if lacks:
        yield render_heading("Does not work yet, and what to type")
        yield render_bullets(*lacks)
    if all(probe.found for probe in probes if probe.needed):
        yield render_heading("Next")
        yield render_commands(_suggest_next(probes))


def _list_works(probes: Sequence[Probe]) -> Iterator[str]:
    analyzers = [probe.works for probe in probes if probe.works and " " not in probe.works]
    if analyzers:
        yield f"reviews by {', '.join(analyzers)}"
    yield from (probe.works for probe in probes if " " in probe.works)
    for probe in probes:
        if probe.name.startswith("Python of ") and probe.found:
            yield f"the tests run with {probe.note}"
    agents = [probe for probe in probes if probe.name.startswith(_AGENT)]
    ready = [
        probe.name.removeprefix(_AGENT) for probe in agents if probe.found and not probe.remedy
    ]
    if ready:
        yield f"agents: {', '.join(ready)} (named with --agent)"


def _list_lacks(probes: Sequence[Probe]) -> Iterator[str]:
    """Yield what lacks, what is needed first."""
    for probe in sorted(probes, key=lambda each: not each.needed):
        if probe.remedy:
            yield f"{probe.name}: {probe.note}. To do: {probe.remedy}"
    if not any(probe.found for probe in probes if probe.name.startswith(_AGENT)):
        yield f"agents: none is installed, and none is needed. To do: {_INSTALL}"


def _suggest_next(probes: Sequence[Probe]) -> dict[str, str]:
    if any(probe.name == "repository" and probe.found for probe in probes):
        return {
            "punchlist review": "list what is wrong with your change",
            "punchlist run": "fix and prove it on a branch of its own, too",
        }
    return {"punchlist demo": "see it work on a small repository that it makes"}
