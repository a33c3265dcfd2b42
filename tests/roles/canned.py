"""An agent whose answers are canned, a folder as a tree, and items to talk about."""

import json
from collections.abc import Sequence
from pathlib import Path

from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Reply

CODE = "import os\n\n\ndef search(name):\n    query = 'é' + name\n    return run(query)\n"


class Canned:
    """Answers with one text after the other; a Reply is given as it is."""

    name = "canned"

    def __init__(self, *answers: str | dict | list | Reply, session: str = "s1") -> None:
        self._answers = list(answers)
        self._session = session
        self.asks = []

    async def ask(self, ask, hear):
        self.asks.append(ask)
        answer = self._answers.pop(0)
        if isinstance(answer, Reply):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        hear(text)
        return Reply(
            agent=self.name,
            text=text,
            session=self._session,
            usage=Usage(1, 10, 5),
            transcript=f"t{len(self.asks)}",
        )

    @property
    def prompt(self) -> str:
        return self.asks[0].prompt


class Folder:
    """A tree without git."""

    commit = "c" * 40

    def __init__(self, root: Path) -> None:
        self.root = root

    def text(self, path):
        file = self.root / path
        return file.read_bytes().decode("utf-8", "surrogateescape") if file.is_file() else None

    def files(self) -> Sequence[str]:
        return sorted(
            str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()
        )


def item(
    number=7,
    severity=Severity.MAJOR,
    *,
    path="src/a.py",
    line=5,
    title="Query is built by hand",
    **fields,
):
    finding = Finding(
        id=f"r:{number}",
        source="r",
        title=title,
        spot=Spot(path, line),
        severity=severity,
        **fields,
    )
    return Item(number=number, fingerprint=f"f{number}", findings=(finding,))
