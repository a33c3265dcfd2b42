"""Writes docs/images/tui-*.svg: the terminal view on the demo's repository, driven by keys as a
person would press them.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot

from punchlist.app.session import Session
from punchlist.app.start.demo import make_demo
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.model.patch.change import ScopeKind
from punchlist.tui.app import WatchApp
from punchlist.tui.backend import Backend

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Textual names fonts on the web; a page of ours loads nothing from elsewhere."""
PAUSE = 0.05
LONG = 120.0
ASKED = {
    "id": "F002-q1",
    "question": "Half a cent: up, as on invoices, or to even, as banks do it?",
    "context": "with_tax() rounds up, discounted() does not say.",
}
SCRIPT = [
    {
        "role": "clarifier",
        "times": 1,
        "answer": {
            "has_questions": True,
            "questions_by_issue": [{"issue_code": "F002", "questions": [ASKED]}],
        },
    },
    {
        "role": "clarifier",
        "answer": {"has_questions": False, "questions_by_issue": [], "ready_to_plan": True},
    },
    {"role": "planner", "answer": {"issues": []}},
    {"role": "technical", "answer": {"findings": [], "summary": "Nothing more."}},
    {
        "role": "fixer",
        "say": [
            "Reading stockroom/money.py and its tests.",
            "discounted() quantizes with the default mode; invoices round up.",
        ],
        "seconds": 600,
        "answer": {"outcomes": []},
    },
]
Scene = Callable[["Pilot[None]", Backend], Awaitable[None]]


async def until(pilot: "Pilot[None]", wanted: Callable[[], object]) -> None:
    async with asyncio.timeout(LONG):
        while not wanted():
            await pilot.pause(PAUSE)
    await pilot.pause(3 * PAUSE)


async def shot(pilot: "Pilot[None]", name: str) -> None:
    await pilot.pause(3 * PAUSE)
    picture = FONTS.sub("", pilot.app.export_screenshot(title="punchlist watch"))
    (IMAGES / f"tui-{name}.svg").write_text(picture, "utf-8")
    print(f"wrote tui-{name}.svg, {len(picture) // 1024} kB")


async def looking(pilot: "Pilot[None]", station: Backend) -> None:
    await until(pilot, lambda: station.load(_name(pilot)).ended)
    await pilot.press("down", "down")
    await shot(pilot, "board")
    await pilot.press("t", "slash", *"round_half_up", "enter", "enter")
    await shot(pilot, "item")


async def steering(pilot: "Pilot[None]", station: Backend) -> None:
    await until(pilot, lambda: station.load(_name(pilot)).unanswered)
    await until(pilot, lambda: not station.driving.list_driven())
    await pilot.press("a")
    await pilot.press(
        *({" ": "space", ",": "comma"}.get(letter, letter) for letter in "up, as on invoices")
    )
    await shot(pilot, "question")
    await pilot.press("enter")
    await until(pilot, lambda: station.load(_name(pilot)).waiting_for)
    await until(pilot, lambda: not station.driving.list_driven())
    await pilot.press("a")
    await pilot.press("a")
    await until(pilot, lambda: station.driving.talk.list_after(_name(pilot), 0))
    await pilot.press("2")
    await shot(pilot, "now")


def _name(pilot: "Pilot[None]") -> str:
    return pilot.app.run_name if isinstance(pilot.app, WatchApp) else ""


async def played(root: Path, request: Request, scene: Scene, size: tuple[int, int]) -> None:
    app = await Session.open(root)
    station = Backend(app.home, str(root / ".git"), lambda: Session.open(root), "ada")
    try:
        ready = await prepare_run(app, request)
        name = await station.drive_run(lambda driving: driving.begin_run(app, ready))
        async with WatchApp(station, name).run_test(size=size) as pilot:
            await scene(pilot, station)
    finally:
        await station.aclose()


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="punchlist-screens-") as made:
        folder = Path(made)
        (folder / "robot.json").write_text(
            json.dumps({"log": "calls.jsonl", "lines": SCRIPT}), "utf-8"
        )
        settings = (
            f'[agent.robot]\nkind = "scripted"\nscript = "{folder / "robot.json"}"\n[agents]\nuse ='
            ' ["robot"]\n'
        )
        (folder / "robot.toml").write_text(settings, "utf-8")
        os.environ["PUNCHLIST_HOME"] = str(folder / "state")
        root, review = await make_demo(folder)
        plain = Request(kind=ScopeKind.ALL, findings=(str(review),), allow_checks=True)
        await played(root, plain, looking, (120, 34))
        os.environ["PUNCHLIST_CONFIG"] = str(folder / "robot.toml")
        asked = Request(
            kind=ScopeKind.ALL,
            findings=(str(review),),
            allow_checks=True,
            workflow="challenged",
            force=True,
        )
        await played(root, asked, steering, (100, 28))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
