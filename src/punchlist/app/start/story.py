"""The story that a request names."""

from punchlist.errors import UsageError
from punchlist.model.ledger.story import Story

_LONGEST = 200


def make_story(id_: str, title: str) -> Story:
    """Return the story. Raise UsageError if one of its texts is no short line, or has no id."""
    named = {"story": " ".join(id_.split()), "title": " ".join(title.split())}
    for name, text in named.items():
        if len(text) > _LONGEST or not text.isprintable():
            what = f"--{name} {text[:40]!r}: must be one line of at most {_LONGEST} characters"
            raise UsageError(what, hint='for example --story 2.3 --title "Cart totals"')
    if named["title"] and not named["story"]:
        hint = 'for example --story 2.3 --title "Cart totals"'
        raise UsageError("a title was given, and no story that has it", hint=hint)
    return Story(named["story"], named["title"])
