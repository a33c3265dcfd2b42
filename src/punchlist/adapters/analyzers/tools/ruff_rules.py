"""Ruff's rules: the default selection, and each rule's severity and category."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.tool import Kit, run_probe
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.selection import is_named
from punchlist.model.finding.severity import Severity

BUGS = (
    "E711,E712,E721,E722,E9,F,W605,ASYNC,B,EXE001,INT,LOG,NPY,PGH004,PLE,PLW,"
    "RUF006,RUF008,RUF009,RUF016,RUF200,T10,YTT"
)
"""What is asked for besides ruff's own defaults where the project does not configure ruff."""

BUGS_IGNORE = "B028,B905,PLW0603,PLW2901,RUF100"
"""Taste within the groups above; and RUF100, which reports comments for rules of other tools."""

ALL = "E4,E7,C4,EXE,FLY,FURB,ISC,PERF,PGH,PIE,PYI,Q004,RSE,RUF,SIM,TRY203,TRY400,TRY401,UP"
"""With `rules = "all"`: also mechanical modernisation, but not layout, naming and docstrings."""

ALL_IGNORE = (
    "E701,E702,E731,E741,ISC001,ISC003,PGH003,PLW0603,PLW2901,PYI021,PYI053,PYI054,"
    "RUF001,RUF002,RUF003,RUF005,RUF100,SIM105,SIM108,SIM300,UP015"
)
"""Taste within the groups above."""

SECURITY = {
    "S102": "`exec` runs whatever the text says",
    "S103": "a file that everyone may write or run",
    "S104": "a server that listens on all interfaces",
    "S108": "a known name in a shared folder, which others can put a link at",
    "S113": "a request without a timeout waits for ever",
    "S201": "the debugger of Flask runs code for whoever reaches it",
    "S202": "an archive may write outside of the folder that it is unpacked in",
    "S301": "unpickling runs code that the data names",
    "S302": "data for `marshal` can crash the interpreter, or worse",
    "S303": "a broken hash function",
    "S304": "a broken cipher",
    "S305": "a cipher mode that shows patterns",
    "S306": "`mktemp` returns a name that another program can take first",
    "S307": "`eval` runs whatever the text says",
    "S308": "`mark_safe` lets text into a page unescaped",
    "S310": "`urlopen` also opens `file:` and other schemes",
    "S312": "telnet sends passwords in clear text",
    "S313": "XML that expands to fill the memory",
    "S314": "XML that expands to fill the memory",
    "S315": "XML that expands to fill the memory",
    "S316": "XML that expands to fill the memory",
    "S317": "XML that expands to fill the memory",
    "S318": "XML that expands to fill the memory",
    "S319": "XML that expands to fill the memory",
    "S321": "FTP sends passwords in clear text",
    "S323": "a connection whose certificate is not verified",
    "S324": "a broken hash function",
    "S501": "a request whose certificate is not verified",
    "S502": "a broken version of SSL or TLS",
    "S503": "a broken version of SSL or TLS as a default",
    "S505": "a key that is short enough to be broken",
    "S506": "`yaml.load` makes any object that the text names",
    "S507": "an SSH host whose key is not verified",
    "S508": "SNMP without encryption",
    "S509": "SNMP without encryption or authentication",
    "S601": "a shell on another machine runs what the text says",
    "S602": "a shell runs what the text says",
    "S604": "a shell runs what the text says, by a function of any name",
    "S605": "a shell runs what the text says",
    "S608": "SQL that is put together of text can be injected",
    "S609": "names of files become options where a shell expands `*`",
    "S610": "`extra` of Django can inject SQL",
    "S611": "`RawSQL` of Django can inject SQL",
    "S612": "the logging server runs code for whoever reaches it",
    "S701": "templates without autoescaping let scripts into pages",
    "S702": "Mako's templates let scripts into pages",
    "S704": "`Markup` lets text into a page unescaped",
}
"""Ruff's security rules whose twin in bandit is of medium or high severity, and why each is worth
a stranger's time. They are asked for outside of tests where the project does not configure ruff.
"""

_CODE = late_pattern(r"(?:ruff:)?[A-Z][A-Z0-9]*\*?")
_OTHERS = late_pattern(r"(?:B[1-7]\d\d|SC\d+|CKV.*|DL\d+|TS\d+)")
_RULES = {
    (Severity.CRITICAL, "correctness"): "E9 F82 F7 PLE",
    (Severity.CRITICAL, "security"): "S102 S602",
    (Severity.MAJOR, "correctness"): (
        "YTT F E711 E721 E722 W605 B BLE ASYNC DTZ INT LOG NPY PLW"
        " RUF006 RUF008 RUF009 RUF016 RUF200 T10"
    ),
    (Severity.MAJOR, "security"): "S",
    (Severity.MINOR, "unused"): "F401 F841 F842 B007 RUF100 ARG ERA",
    (Severity.MINOR, "style"): "F541 F403 F405 E W B009 B010 A FAST G PD PLC RUF T20 I N",
    (Severity.MINOR, "correctness"): "B011 B028 B905 S110 S112",
    (Severity.MINOR, "security"): "S101 S311 S404 S603 S607",
    (Severity.MINOR, "complexity"): "PLR C90",
    (Severity.MINOR, "performance"): "PERF C4",
    (Severity.MINOR, "typing"): "ANN TC PYI FA",
    (Severity.MINOR, "documentation"): "D DOC",
    (Severity.MINOR, "modernisation"): "UP FURB PTH",
}
"""Rules, and prefixes of their names, by severity and category."""
_MEANING = {name: meaning for meaning, names in _RULES.items() for name in names.split()}


def rank_rule(rule: str) -> tuple[Severity, str]:
    """Return a rule's severity and category, by its longest known prefix."""
    for length in range(len(rule), 0, -1):
        known = _MEANING.get(rule[:length])
        # "I" must not speak for "ISC": a whole group's name ends where its digits begin.
        if known and (length == len(rule) or not rule[length].isalpha()):
            return known
    return Severity.MINOR, "style"


def find_misspelt(patterns: Sequence[str], rules: Sequence[str]) -> list[str]:
    """Return the patterns that look like codes of ruff and name none of its rules; those of bandit
    and shellcheck are no such.
    """
    odd = [each for each in patterns if _CODE.fullmatch(each) and not _OTHERS.fullmatch(each)]
    return [each for each in odd if not any(is_named(each, "ruff", rule) for rule in rules)]


async def find_rules(program: Sequence[str], patterns: Sequence[str], kit: Kit) -> tuple[str, ...]:
    """Return the names of the rules that patterns of `review.select` name, of those that this ruff
    has; () if it does not say which it has.
    """
    ran = await run_probe([*program, "rule", "--all", "--output-format=json"], kit)
    try:
        known = msgspec.json.decode(ran.stdout, type=list[_KnownRule])
    except msgspec.DecodeError:
        return ()
    usable = (rule.code for rule in known if not rule.preview and "Removed" not in rule.status)
    return tuple(
        code for code in usable if code and any(is_named(each, "ruff", code) for each in patterns)
    )


class _KnownRule(Struct, frozen=True):
    """A rule as `ruff rule --all` has it; older versions say less, and some have no code."""

    code: str | None = None
    preview: bool = False
    status: dict[str, Any] = {}
