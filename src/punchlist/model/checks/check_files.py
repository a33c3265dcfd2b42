"""The project's own files that a check's command comes from or runs: no fixer may change them."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from punchlist.model.checks.check import Check, CheckKind
from punchlist.model.finding.late_pattern import late_pattern

_WORD = late_pattern(r"[\w./@+-]+")
_INTERPRETER = late_pattern(
    r"(?:python|pypy|node|deno|bun|ruby|perl|php|lua|\w*sh)[\d.]*(?:\.exe)?"
)
_WRAPPER = late_pattern(
    r"env|uv|poetry|pipenv|hatch|pdm|rye|run|exec|nice|timeout|-.*|\d+\w?|\w+=.*"
)
_NAMES_FILE = late_pattern(r"-f|-c|--(?:\w+-)?(?:config|settings|\w*file)")
_SCRIPTS = (".sh", ".bash", ".zsh", ".ksh", ".mk", ".just", ".ps1", ".bat", ".cmd")


async def find_check_files(
    check: Check, files: Collection[str], read: Callable[[str], Awaitable[str]]
) -> tuple[str, ...]:
    """Return those of the project's files that define the check: where its command was found, the
    script that it runs, the files that its options name, and the scripts that these run.
    """
    known = frozenset(files)
    # What examples are in is code under review, and does not define how they are run.
    origin = "" if check.kind is CheckKind.DOCTEST else check.origin
    found = [*_find_words(origin, known), *_find_in_command(check.command, known)]
    for path in found:  # grows along
        if PurePosixPath(path).suffix not in (".py", ".lock"):
            text = await read(path)
            named = (each for each in _find_words(text, known) if each.endswith(_SCRIPTS))
            found += (each for each in dict.fromkeys(named) if each not in found)
    return tuple(dict.fromkeys(found))


def _find_words(text: str, known: Collection[str]) -> Iterator[str]:
    """Yield the words of a text that are files of the project."""
    for word in _WORD.findall(text):
        name = word.removeprefix("./").rstrip(".")
        if name in known:
            yield name


def _find_in_command(command: Sequence[str], known: Collection[str]) -> Iterator[str]:
    """Yield the script that a command runs, and the files that its options name."""
    words = [part.removeprefix("./") for part in command]
    inner = (at for at, word in enumerate(words) if not _WRAPPER.fullmatch(word))
    program, *arguments = words[next(inner, 0) :] or [""]
    named = [program]
    if _INTERPRETER.fullmatch(PurePosixPath(program).name) and "-m" not in arguments:
        named += [each for each in arguments if each in known][:1]
    named += [after for before, after in pairwise(arguments) if _NAMES_FILE.fullmatch(before)]
    options = (each.partition("=") for each in arguments)
    named += [value.removeprefix("./") for name, _, value in options if _NAMES_FILE.fullmatch(name)]
    yield from (each for each in named if each in known)
