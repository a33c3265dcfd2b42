"""Values that are JSON: written in a fixed shape, read with an error that names the place."""

from enum import StrEnum
from typing import Any, Self

import msgspec
from msgspec import Struct

from punchlist.errors import UsageError
from punchlist.model.finding.guarded_text import parse_json


class JsonValue(Struct, frozen=True, omit_defaults=True):
    """A value that can be written as JSON and read again; empty optional fields are left out."""

    def to_dict(self) -> dict[str, Any]:
        """Return the value as plain dictionaries, lists and texts."""
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return fields

    def to_json(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self)).decode()

    def _take_word(self, name: str, kind: type[StrEnum]) -> None:
        """Turn a plain word in a field into a member of its kind; raise ValueError for others."""
        word = getattr(self, name)
        if word not in tuple(kind):
            known = ", ".join(kind)
            raise ValueError(f"{name} of {type(self).__name__} is {word!r}, not one of: {known}")
        msgspec.structs.force_setattr(self, name, kind(word))

    @classmethod
    def from_dict(cls, fields: object) -> Self:
        """Return the value of plain dictionaries; raise UsageError if a field is wrong."""
        try:
            return msgspec.convert(fields, cls)
        except msgspec.ValidationError as error:
            raise _explain_error(cls.__name__, error) from error

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the value of a JSON text; raise UsageError if it has another shape."""
        try:
            return parse_json(text, cls)
        except msgspec.DecodeError as error:
            raise _explain_error(cls.__name__, error) from error


def _explain_error(name: str, error: msgspec.DecodeError) -> UsageError:
    hint = f"the fields of {name} are in docs/guides/library.md"
    return UsageError(f"this is no {name}: {error}", hint=hint)
