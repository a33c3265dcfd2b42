"""What we use of a SARIF 2.1.0 log, object by object; everything else in it is not looked at."""

from typing import Any

import msgspec
from msgspec import Struct


class _Shape(Struct, frozen=True, rename="camel"):
    """What we use of an object; the rest is not looked at."""


class Text(_Shape, frozen=True):
    text: str | None = None
    markdown: str | None = None
    id: str | None = None
    arguments: list[str] = []


class Region(_Shape, frozen=True):
    start_line: int | None = None
    start_column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    char_offset: int | None = None
    char_length: int | None = None


class ArtifactLocation(_Shape, frozen=True):
    uri: str | None = None
    uri_base_id: str | None = None
    index: int = -1


class PhysicalLocation(_Shape, frozen=True):
    artifact_location: ArtifactLocation = ArtifactLocation()
    region: Region | None = None


class Location(_Shape, frozen=True):
    physical_location: PhysicalLocation | None = None


class Replacement(_Shape, frozen=True):
    deleted_region: Region
    inserted_content: Text | None = None


class ArtifactChange(_Shape, frozen=True):
    artifact_location: ArtifactLocation
    replacements: list[Replacement]


class SarifFix(_Shape, frozen=True):
    artifact_changes: list[ArtifactChange]
    description: Text | None = None


class Suppression(_Shape, frozen=True):
    kind: str = ""
    status: str = "accepted"
    justification: str | None = None


class RuleReference(_Shape, frozen=True):
    id: str | None = None
    index: int = -1


class Result(_Shape, frozen=True):
    message: Text
    rule_id: str | None = None
    rule_index: int = -1
    rule: RuleReference = RuleReference()
    level: str | None = None
    kind: str = "fail"
    locations: list[Location] = []
    fixes: list[SarifFix] | None = None
    suppressions: list[Suppression] | None = None
    properties: dict[str, Any] | None = None


class Configuration(_Shape, frozen=True):
    level: str | None = None


class Rule(_Shape, frozen=True):
    id: str = ""
    name: str | None = None
    help_uri: str | None = None
    short_description: Text | None = None
    message_strings: dict[str, Text] = {}
    default_configuration: Configuration = Configuration()
    properties: dict[str, Any] | None = None


class Driver(_Shape, frozen=True):
    name: str = ""
    rules: list[msgspec.Raw] | None = None


class ToolBox(_Shape, frozen=True):
    driver: Driver = Driver()
    extensions: list[Driver] | None = None


class Invocation(_Shape, frozen=True):
    execution_successful: bool = True
    exit_code_description: str | None = None


class Artifact(_Shape, frozen=True):
    location: ArtifactLocation = ArtifactLocation()


class Run(_Shape, frozen=True):
    tool: ToolBox = ToolBox()
    results: list[msgspec.Raw] | None = None
    invocations: list[Invocation] | None = None
    artifacts: list[Artifact] | None = None
    original_uri_base_ids: dict[str, ArtifactLocation] | None = None
    column_kind: str = "unicodeCodePoints"


class Log(_Shape, frozen=True):
    runs: list[msgspec.Raw]
