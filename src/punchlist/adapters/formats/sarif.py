"""SARIF 2.1.0, the parts that punchlist reads and writes. Absent, null and empty are equal."""

from typing import Any

from msgspec import Raw, Struct

VERSION = "2.1.0"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

Properties = dict[str, Any]


class SarifPart(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """Base of all parts: camel-cased names, defaults omitted."""


class SarifMessage(SarifPart, frozen=True):
    text: str | None = None
    markdown: str | None = None
    id: str | None = None
    arguments: list[str] | None = None


class ArtifactLocation(SarifPart, frozen=True):
    uri: str | None = None
    uri_base_id: str | None = None
    index: int | None = None


class Region(SarifPart, frozen=True):
    start_line: int | None = None
    start_column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    char_offset: int | None = None
    char_length: int | None = None


class PhysicalLocation(SarifPart, frozen=True):
    artifact_location: ArtifactLocation | None = None
    region: Region | None = None


class LogicalLocation(SarifPart, frozen=True):
    fully_qualified_name: str | None = None


class SarifLocation(SarifPart, frozen=True):
    physical_location: PhysicalLocation | None = None
    logical_locations: list[LogicalLocation] | None = None


class Content(SarifPart, frozen=True):
    text: str | None = None
    binary: str | None = None


class SarifReplacement(SarifPart, frozen=True):
    deleted_region: Region
    inserted_content: Content | None = None


class ArtifactChange(SarifPart, frozen=True):
    artifact_location: ArtifactLocation
    replacements: list[SarifReplacement]


class SarifFix(SarifPart, frozen=True, kw_only=True):
    description: SarifMessage | None = None
    artifact_changes: list[ArtifactChange]


class Suppression(SarifPart, frozen=True):
    kind: str = ""
    status: str | None = None
    justification: str | None = None


class RuleReference(SarifPart, frozen=True):
    id: str | None = None
    index: int | None = None


class Configuration(SarifPart, frozen=True):
    level: str | None = None


class Rule(SarifPart, frozen=True):
    id: str
    name: str | None = None
    short_description: SarifMessage | None = None
    full_description: SarifMessage | None = None
    help_uri: str | None = None
    default_configuration: Configuration | None = None
    message_strings: dict[str, SarifMessage] | None = None
    properties: Properties | None = None


class SarifResult(SarifPart, frozen=True):
    rule_id: str | None = None
    rule_index: int | None = None
    rule: RuleReference | None = None
    kind: str | None = None
    level: str | None = None
    message: SarifMessage | None = None
    locations: list[SarifLocation] | None = None
    guid: str | None = None
    fingerprints: dict[str, str] | None = None
    partial_fingerprints: dict[str, str] | None = None
    baseline_state: str | None = None
    suppressions: list[Suppression] | None = None
    fixes: list[SarifFix] | None = None
    work_item_uris: list[str] | None = None
    hosted_viewer_uri: str | None = None
    properties: Properties | None = None


class BareResult(SarifPart, frozen=True, kw_only=True):
    """The minimum of a result whose other parts cannot be decoded."""

    rule_id: str | None = None
    level: str | None = None
    message: SarifMessage
    locations: list[SarifLocation] | None = None


class Driver(SarifPart, frozen=True):
    name: str = ""
    version: str | None = None
    rules: list[Raw] | None = None
    global_message_strings: dict[str, SarifMessage] | None = None


class SarifTool(SarifPart, frozen=True):
    driver: Driver = Driver()
    extensions: list[Driver] | None = None


class Artifact(SarifPart, frozen=True):
    location: ArtifactLocation | None = None


class Notification(SarifPart, frozen=True):
    message: SarifMessage
    level: str | None = None
    locations: list[SarifLocation] | None = None


class Invocation(SarifPart, frozen=True):
    execution_successful: bool | None = None
    start_time_utc: str | None = None
    end_time_utc: str | None = None
    tool_execution_notifications: list[Notification] | None = None
    exit_code_description: str | None = None


class Automation(SarifPart, frozen=True):
    id: str


class SarifRun(SarifPart, frozen=True):
    tool: SarifTool = SarifTool()
    invocations: list[Invocation] | None = None
    automation_details: Automation | None = None
    original_uri_base_ids: dict[str, ArtifactLocation] | None = None
    artifacts: list[Artifact] | None = None
    results: list[Raw] | None = None
    column_kind: str | None = None
    properties: Properties | None = None
