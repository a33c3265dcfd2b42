"""Ruff's rules: the default selection, and each rule's severity and category."""

from punchlist.model.finding.severity import Severity

DEFAULT_SELECT = (
    "E4,E7,E9,F,W605,B,ASYNC,C4,EXE,FLY,FURB,INT,ISC,LOG,NPY,PERF,PGH,PIE,PLE,PLW,PYI,Q004,"
    "RSE,RUF,SIM,T10,TRY203,TRY400,TRY401,UP,YTT"
)
"""Real defects and mechanical modernisation; layout, naming, docstrings and taste are the project's
own business.
"""

DEFAULT_IGNORE = (
    "E701,E702,E731,E741,B008,ISC001,ISC003,PGH003,PIE790,PLW0603,PLW2901,PYI021,PYI041,PYI053,PYI054,PYI063,"
    "RUF001,RUF002,RUF003,RUF005,RUF012,RUF100,SIM102,SIM105,SIM108,SIM114,SIM117,SIM300,UP015,EXE002"
)
"""Taste within the groups above. RUF100 calls comments unused that are for rules which the project
runs elsewhere.
"""

_CRITICAL, _MAJOR, _MINOR = Severity.CRITICAL, Severity.MAJOR, Severity.MINOR

_MEANING: dict[str, tuple[Severity, str]] = {
    "E9": (_CRITICAL, "correctness"),
    "F82": (_CRITICAL, "correctness"),
    "F7": (_CRITICAL, "correctness"),
    "PLE": (_CRITICAL, "correctness"),
    "YTT": (_MAJOR, "correctness"),
    "F": (_MAJOR, "correctness"),
    "F401": (_MINOR, "unused"),
    "F811": (_MAJOR, "correctness"),
    "F841": (_MINOR, "unused"),
    "F842": (_MINOR, "unused"),
    "F541": (_MINOR, "style"),
    "F403": (_MINOR, "style"),
    "F405": (_MINOR, "style"),
    "E": (_MINOR, "style"),
    "E711": (_MAJOR, "correctness"),
    "E721": (_MAJOR, "correctness"),
    "E722": (_MAJOR, "correctness"),
    "W": (_MINOR, "style"),
    "W605": (_MAJOR, "correctness"),
    "B": (_MAJOR, "correctness"),
    "B007": (_MINOR, "unused"),
    "B009": (_MINOR, "style"),
    "B010": (_MINOR, "style"),
    "B011": (_MINOR, "correctness"),
    "B028": (_MINOR, "correctness"),
    "B905": (_MINOR, "correctness"),
    "S": (_MAJOR, "security"),
    "S101": (_MINOR, "security"),
    "S105": (_MAJOR, "security"),
    "S110": (_MINOR, "correctness"),
    "S112": (_MINOR, "correctness"),
    "S311": (_MINOR, "security"),
    "S404": (_MINOR, "security"),
    "S603": (_MINOR, "security"),
    "S607": (_MINOR, "security"),
    "S102": (_CRITICAL, "security"),
    "S602": (_CRITICAL, "security"),
    "S608": (_MAJOR, "security"),
    "BLE": (_MAJOR, "correctness"),
    "A": (_MINOR, "style"),
    "ASYNC": (_MAJOR, "correctness"),
    "DTZ": (_MAJOR, "correctness"),
    "FAST": (_MINOR, "style"),
    "INT": (_MAJOR, "correctness"),
    "LOG": (_MAJOR, "correctness"),
    "G": (_MINOR, "style"),
    "NPY": (_MAJOR, "correctness"),
    "PD": (_MINOR, "style"),
    "PLW": (_MAJOR, "correctness"),
    "PLC": (_MINOR, "style"),
    "PLR": (_MINOR, "complexity"),
    "RUF": (_MINOR, "style"),
    "RUF006": (_MAJOR, "correctness"),
    "RUF008": (_MAJOR, "correctness"),
    "RUF009": (_MAJOR, "correctness"),
    "RUF016": (_MAJOR, "correctness"),
    "RUF100": (_MINOR, "unused"),
    "RUF200": (_MAJOR, "correctness"),
    "T10": (_MAJOR, "correctness"),
    "T20": (_MINOR, "style"),
    "PERF": (_MINOR, "performance"),
    "C4": (_MINOR, "performance"),
    "C90": (_MINOR, "complexity"),
    "ANN": (_MINOR, "typing"),
    "TC": (_MINOR, "typing"),
    "PYI": (_MINOR, "typing"),
    "FA": (_MINOR, "typing"),
    "D": (_MINOR, "documentation"),
    "DOC": (_MINOR, "documentation"),
    "ARG": (_MINOR, "unused"),
    "ERA": (_MINOR, "unused"),
    "UP": (_MINOR, "modernisation"),
    "FURB": (_MINOR, "modernisation"),
    "PTH": (_MINOR, "modernisation"),
    "I": (_MINOR, "style"),
    "N": (_MINOR, "style"),
}


def rank_rule(rule: str) -> tuple[Severity, str]:
    """Return a rule's severity and category, by its longest known prefix."""
    for length in range(len(rule), 0, -1):
        known = _MEANING.get(rule[:length])
        # "I" must not speak for "ISC": a whole group's name ends where its digits begin.
        if known and (length == len(rule) or not rule[length].isalpha()):
            return known
    return (_MINOR, "style")
