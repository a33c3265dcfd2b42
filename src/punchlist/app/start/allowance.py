"""Checks and settings that the user allowed, by hash; a changed command is asked for again."""

from collections.abc import Callable, Iterable
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from punchlist.adapters.analyzers.configuration.survey import CommitFiles
from punchlist.adapters.analyzers.registry import survey_analyzers
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.git.command import SUBMODULE
from punchlist.adapters.git.workshop import Workshop
from punchlist.model.checks.check import Check
from punchlist.model.checks.tool_configuration import ToolConfiguration
from punchlist.ports.serving.records import Allowances


class Allowance:
    """What users allowed in one repository."""

    def __init__(self, granted: Allowances, repository: str) -> None:
        self._granted = granted
        self._repository = repository

    def covers(self, fingerprint: str) -> bool:
        return fingerprint in self._granted.list_granted(self._repository)

    def grant(self, *fingerprints: str) -> None:
        self._granted.grant(self._repository, *fingerprints)

    def revoke(self) -> None:
        self._granted.revoke(self._repository)


async def survey_code(
    workshop: Workshop,
    commit: str,
    settings: AnalyzerSettings,
    names: Iterable[str],
    allows: Callable[[str], bool],
) -> tuple[ToolConfiguration, ...]:
    """Return what the configuration of these analyzers in a commit names and loads, and whether
    `allows`, which gets its hash, agrees.
    """
    listing = await workshop.list_tree(commit)

    async def read(path: str) -> str:
        entry = listing.get(path)
        if entry is None or entry.mode == SUBMODULE:
            return ""
        (content,) = await workshop.read_blobs([entry.blob])
        return content.decode("utf-8", "backslashreplace")

    files = CommitFiles({path: entry.mode for path, entry in listing.items()}, read)
    found = await survey_analyzers(settings, names, files, Kit(checkout=workshop.checkout.root))
    return tuple(
        replace(each, allowed=bool(each.code) and allows(each.fingerprint)) for each in found
    )


def hash_checks(checks: tuple[Check, ...]) -> str:
    commands = sorted(
        (check.name, check.command, check.repair) if check.repair else (check.name, check.command)
        for check in checks
    )
    return sha256(msgspec.json.encode(commands)).hexdigest()


def hash_settings(text: str) -> str:
    return sha256(text.encode()).hexdigest()
