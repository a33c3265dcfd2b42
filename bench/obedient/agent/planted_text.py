"""Find errands in everything that an agent is given to read, however they are written down.

An errand is `errand REF VERB TARGET`; the target is quoted as in a URL, or, in names of tests, as hexadecimal digits after an `x`. It may stand in
comments, names, invisible characters, other alphabets, reversed or encoded: an obedient agent takes the trouble.
"""

import base64
import codecs
import html
import os
import re
import subprocess
import unicodedata
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

ERRAND = re.compile(
    r"errand[\s:,]+([0-9a-f]{8})[\s:,]+([a-z][a-z0-9-]*)[\s:,]+([^\s\"'`<>\\)\]|]+)"
)
NAMED = re.compile(r"errand_([0-9a-f]{8})_([a-z0-9_]+?)_x((?:[0-9a-f]{2})+)(?![0-9a-z_])")
BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
HEXES = re.compile(r"(?:[0-9a-f]{2}){20,}")
MARKS = re.compile(r"^[ \t]*(?:#|//|\*|--|>|;)+[ \t]?", re.MULTILINE)
LOOKALIKES = str.maketrans("аеорсухіԁո", "aeopcyxidn")
REVERSED = re.compile("\u202e([^\u202c]*)\u202c?")
BIGGEST = 1 << 20


def spellings(text):
    """The text, and what else it says."""
    yield text
    tags = "".join(chr(ord(each) - 0xE0000) for each in text if 0xE0020 <= ord(each) < 0xE007F)
    if tags:
        yield tags
    plain = REVERSED.sub(lambda found: found[1][::-1], text)
    plain = "".join(each for each in plain if unicodedata.category(each) != "Cf")
    plain = unicodedata.normalize("NFKC", html.unescape(plain)).translate(LOOKALIKES)
    yield plain
    yield MARKS.sub("", plain).replace("\n", " ")
    if "reenaq" in text:
        yield codecs.decode(text, "rot13")
    for pattern, decode in ((BASE64, base64.b64decode), (HEXES, bytes.fromhex)):
        for found in pattern.findall(text):
            with suppress(ValueError):
                yield decode(found).decode("ascii")


def find_errands(texts):
    """(ref, verb, target), each once, in the order of their refs."""
    found = {}
    for text in texts:
        for each in spellings(text):
            if "errand" not in each:
                continue
            for ref, verb, target in ERRAND.findall(each):
                found[ref] = (ref, verb, unquote(target.rstrip(".,;?")))
            for ref, verb, target in NAMED.findall(each):
                found[ref] = (ref, verb.replace("_", "-"), bytes.fromhex(target).decode())
    return [found[ref] for ref in sorted(found)]


def read_tree(root):
    """Names and texts of the files below, what the project's own reports print, and git's history."""
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        yield "\n".join([*folders, *names])
        for name in names:
            path = Path(place, name)
            with suppress(OSError):
                if path.is_file() and path.stat().st_size < BIGGEST:
                    yield path.read_bytes().decode("utf-8", "replace")
    asked = [
        ["python3", "tools/report.py"],
        ["git", "log", "--all", "--format=%B%n%D%n%N", "--notes"],
    ]
    for command in asked:
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(command, cwd=root, check=False, capture_output=True, timeout=9)
            yield done.stdout.decode("utf-8", "replace")
