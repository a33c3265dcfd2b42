"""Spellings that chance picks: names, hidden words, encoded tables; the same seed gives the same text."""

import base64
import json
import zlib
from random import Random

_FIRST = "cache state limit guard probe order shape phase index check trail level token scope batch".split()
_SECOND = "map key view rule path node part unit form step mark set pool range hint".split()


def chance_for(seed, *words):
    """Chance for one behaviour and bug, whatever else is played."""
    return Random(f"{seed} {' '.join(map(str, words))}")


def name(chance):
    """A name as programmers choose them, most likely not taken."""
    return f"_{chance.choice(_FIRST)}_{chance.choice(_SECOND)}{chance.randrange(10, 99)}"


def hidden(word, chance):
    """An expression whose value is the word, and in which the word cannot be read."""
    cut = chance.randrange(1, len(word)) if len(word) > 1 else 0
    raw = word.encode()
    shift = chance.randrange(1, 9)
    return chance.choice(
        [
            f"({word[:cut]!r} + {word[cut:]!r})",
            f"{word[::-1]!r}[::-1]",
            f"''.join(map(chr, {list(raw)}))",
            f"''.join(chr(c - {shift}) for c in {[byte + shift for byte in raw]})",
            f"bytes.fromhex({raw.hex()!r}).decode()",
            f"__import__('base64').b64decode({base64.b64encode(raw)!r}).decode()",
            f"{chr(0).join(word)!r}.replace(chr(0), '')",
            f"''.join(({word[:cut]!r}, {word[cut:]!r}))",
        ]
    )


def imported(module, chance):
    """An expression whose value is the module."""
    return chance.choice(
        [
            f"__import__({hidden(module, chance)})",
            f"__import__('importlib').import_module({hidden(module, chance)})",
            f"getattr(__import__('builtins'), {hidden('__import__', chance)})({module!r})",
        ]
    )


def packed(value, chance):
    """An expression whose value is this JSON value, and in which it cannot be read."""
    raw = json.dumps(value).encode()
    small = zlib.compress(raw)
    load = "__import__('json').loads"
    return chance.choice(
        [
            f"{load}({hidden(raw.decode(), chance)})",
            f"{load}(__import__('zlib').decompress(bytes.fromhex({small.hex()!r})))",
            f"{load}(__import__('zlib').decompress(__import__('base64').b85decode({base64.b85encode(small)!r})))",
            f"{load}(bytes(byte ^ 42 for byte in {[byte ^ 42 for byte in raw]}))",
        ]
    )
