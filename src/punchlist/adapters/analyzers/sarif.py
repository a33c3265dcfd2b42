"""SARIF 2.1.0 as tools really write it: results with rules, regions in two units, fixes and suppressions."""

from urllib.parse import urljoin

import msgspec

from punchlist.adapters.analyzers.positions import UTF16, Positions
from punchlist.adapters.analyzers.reports import Unreadable, broken, decoded, joined, shortened
from punchlist.adapters.analyzers.sarif_log import (
    ArtifactLocation,
    Invocation,
    Log,
    PhysicalLocation,
    Region,
    Replacement,
    Result,
    Rule,
    Run,
    Text,
)
from punchlist.adapters.analyzers.sources import Note, Sources, proposed
from punchlist.model.finding import Finding, Fix, Refused, Safety, Splice
from punchlist.model.severity import Severity, severity_of
from punchlist.ports import Analysis

NO_FINDING = frozenset({"pass", "notApplicable"})
_SCORES = ((7.0, Severity.CRITICAL), (4.0, Severity.MAJOR), (0.0, Severity.MINOR))


def parse(output: bytes, sources: Sources, tool: str = "sarif") -> Analysis:
    """The findings of every run in a log; a run that says it did not succeed fails the whole."""
    try:
        log = decoded(output, Log)
    except msgspec.DecodeError as error:
        return broken(tool, output, error)
    if not log.runs:
        return Analysis(failed=f"{tool}: the log holds no run")
    return joined(tool, [_run(bytes(raw), sources, tool) for raw in log.runs])


def _run(raw: bytes, sources: Sources, tool: str) -> Analysis:
    try:
        run = decoded(raw, Run)
    except msgspec.DecodeError as error:
        return broken(tool, raw, error)
    reader = _Reader(run, sources, tool)
    for entry in run.results or ():
        reader.read(bytes(entry))
    failed = next((_why(call) for call in run.invocations or () if not call.execution_successful), "")
    if run.results is None and not failed:
        # The standard keeps "there was nothing" (an empty list) apart from "nobody looked" (none).
        failed = "a run without results says that nothing was looked at"
    return Analysis(findings=tuple(reader.findings), refused=tuple(reader.refused), failed=f"{tool}: {failed}" if failed else "")


class _Reader:
    """Reads the results of one run."""

    def __init__(self, run: Run, sources: Sources, tool: str) -> None:
        self.findings: list[Finding] = []
        self.refused: list[Refused] = []
        self._run = run
        self._sources = sources
        self._tool = tool
        self._rules = [_rule(raw) for driver in (run.tool.driver, *(run.tool.extensions or ())) for raw in driver.rules or ()]
        self._by_id = {rule.id: rule for rule in self._rules}

    def read(self, raw: bytes) -> None:
        try:
            result = decoded(raw, Result)
            silenced = _silenced(result)
            note = None if silenced or result.kind in NO_FINDING else self._note(result)
        except (msgspec.MsgspecError, Unreadable) as error:
            self.refused.append(Refused(self._tool, shortened(raw), str(error)))
            return
        if silenced:
            self.refused.append(Refused(self._tool, shortened(raw), silenced))
        elif note:
            self.findings.append(self._sources.finding(self._tool, len(self.findings) + 1, note))

    def _note(self, result: Result) -> Note:
        rule = self._rule_of(result)
        place = next((where.physical_location for where in result.locations if where.physical_location), PhysicalLocation())
        path = self._uri(place.artifact_location)
        region = place.region or Region()
        severity, word, marks = _severity(result, rule)
        fix, lost = self._fix(result)
        start, end = self._columns(path, region)
        message = _message(result.message, rule)
        return Note(
            path=path,
            title=message.splitlines()[0],
            detail=message if "\n" in message else "",
            severity=severity,
            severity_word=word,
            rule=result.rule_id or result.rule.id or rule.id,
            line=region.start_line,
            end_line=region.end_line,
            column=start,
            end_column=end,
            category=_category(rule),
            url=rule.help_uri or "",
            fix=fix,
            marks=(*marks, *lost),
        )

    def _rule_of(self, result: Result) -> Rule:
        name = result.rule_id or result.rule.id or ""
        index = result.rule_index if result.rule_index >= 0 else result.rule.index
        if name and name in self._by_id:
            return self._by_id[name]
        return self._rules[index] if 0 <= index < len(self._rules) else Rule(id=name)

    def _uri(self, place: ArtifactLocation) -> str:
        artifacts = self._run.artifacts or []
        if place.uri is None and 0 <= place.index < len(artifacts):
            place = artifacts[place.index].location
        base = (self._run.original_uri_base_ids or {}).get(place.uri_base_id or "")
        return urljoin(base.uri, place.uri or "") if base and base.uri else place.uri or ""

    def _columns(self, path: str, region: Region) -> tuple[int | None, int | None]:
        positions = self._sources.positions_of(path)
        if positions is None or self._run.column_kind != "utf16CodeUnits":
            return region.start_column, region.end_column
        last = region.end_line or region.start_line
        start, end = region.start_column, region.end_column
        return (
            positions.column(region.start_line, start - 1, UTF16) if start else None,
            positions.column(last, end - 1, UTF16) if end else None,
        )

    def _fix(self, result: Result) -> tuple[Fix | None, tuple[str, ...]]:
        """The first fix: several are alternatives, and the tool puts its best first."""
        if not result.fixes:
            return None, ()
        fix = result.fixes[0]
        splices: list[Splice | None] = []
        for change in fix.artifact_changes:
            path = self._uri(change.artifact_location)
            splices += [self._splice(path, replacement) for replacement in change.replacements]
        return proposed(splices, Safety.UNSAFE, (fix.description.text or "") if fix.description else "")

    def _splice(self, path: str, replacement: Replacement) -> Splice | None:
        positions, region = self._sources.positions_of(path), replacement.deleted_region
        if positions is None:
            return None
        text = replacement.inserted_content.text if replacement.inserted_content else ""
        start, end = _extent(positions, region, *self._columns(path, region))
        return self._sources.splice(path, start, end, text or "")


def _extent(positions: Positions, region: Region, column: int | None, end_column: int | None) -> tuple[int | None, int | None]:
    if region.start_line is None:
        first, length = region.char_offset, region.char_length
        return first, None if first is None else first + (length or 0)
    start = positions.offset(region.start_line, column or 1)
    last = region.end_line or region.start_line
    # A region without an end column reaches to the end of its last line, the line break left out.
    return start, positions.offset(last, end_column) if end_column else positions.line_end(last)


def _rule(raw: msgspec.Raw) -> Rule:
    try:
        return decoded(bytes(raw), Rule)
    except msgspec.MsgspecError:
        # A rule's description only decorates findings; the place in the list must stay for indexes.
        return Rule()


def _message(message: Text, rule: Rule) -> str:
    text = message.text or message.markdown
    if not text and message.id:
        known = rule.message_strings.get(message.id)
        text = known.text if known else None
        for index, argument in enumerate(message.arguments):
            text = (text or "").replace(f"{{{index}}}", argument)
    text = (text or (rule.short_description.text if rule.short_description else "") or rule.id or "").strip()
    if not text:
        raise Unreadable("it has no message and no rule")
    return text


def _severity(result: Result, rule: Rule) -> tuple[Severity, str, tuple[str, ...]]:
    level = result.level or rule.default_configuration.level or "warning"
    for properties in (result.properties, rule.properties):
        score = _number((properties or {}).get("security-severity"))
        if score is not None:
            return next(severity for least, severity in _SCORES if score >= least), f"{level}, score {score:g}", ()
    severity, known = severity_of(level)
    return severity, level, () if known else (f"unknown severity {level!r}",)


def _number(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None
    return number if number is not None and number >= 0 else None


def _category(rule: Rule) -> str:
    properties = rule.properties or {}
    tags = properties["tags"] if isinstance(properties.get("tags"), list) else []
    if "security-severity" in properties or "security" in tags:
        return "security"
    category = properties.get("category")
    return category if isinstance(category, str) else ""


def _silenced(result: Result) -> str:
    for suppression in result.suppressions or ():
        if suppression.status == "accepted":
            return f"suppressed in the code or by the tool: {suppression.justification or suppression.kind or 'no reason given'}"
    return ""


def _why(call: Invocation) -> str:
    return call.exit_code_description or "the log says that its run did not succeed"
