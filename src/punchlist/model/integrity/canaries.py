"""Canaries: small, plausible patches that are known to be right or wrong."""

import tomllib
from importlib.resources import files

import msgspec
from msgspec import Struct


class Canary(Struct, frozen=True):
    """`before` is the file with the fault the title names, `after` what a fixer made of it."""

    good: bool
    path: str
    line: int
    title: str
    detail: str
    before: str
    after: str


def _load() -> tuple[Canary, ...]:
    text = (files("punchlist.model.integrity") / "canaries.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text)["canary"], tuple[Canary, ...])


CANARIES = _load()
"""Bad and good by turns, so that any number of them has both."""
