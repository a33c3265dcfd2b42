"""Biome: JavaScript, TypeScript, JSON and CSS, by its rdjson report (Biome 2.4 and later)."""

import re

from msgspec.structs import replace

from punchlist.adapters.analyzers.configuration.declared import ConfigurationKeys
from punchlist.adapters.analyzers.entries import report_parser, with_unparsed
from punchlist.adapters.analyzers.formats import rdjson
from punchlist.adapters.analyzers.looked import believe_names
from punchlist.adapters.analyzers.tool import SCRIPTS, AnalyzerTool, find_files
from punchlist.adapters.analyzers.tools.eslint import configures_eslint
from punchlist.adapters.process.run import ProcessResult
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Finding
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import Severity
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

# Its columns count characters, with the byte order mark; its suggestions are parts of one fix.
DIALECT = rdjson.RdjsonDialect(
    bytewise=False, one_fix=True, ranks={"error": Severity.MAJOR, "warning": Severity.MINOR}
)

_FAILED = "internalError/fs"
_PROTECTED = ("package-lock.json", "npm-shrinkwrap.json")
"""Files of another tool's, about which it only says that it does not look at them."""
_ABSENT = late_pattern(r"The file (?P<file>.+) does not exist in the workspace", re.DOTALL)
_LISTED = late_pattern(r"^  - (.+)$", re.MULTILINE)
_CHECKED = late_pattern(r"^Checked (\d+) files? in ", re.MULTILINE)
_EXCLUDES = late_pattern(r'"(?:includes?|ignore|useIgnoreFile|enabled)"\s*:')
_CATEGORIES = {
    "correctness": "correctness",
    "suspicious": "correctness",
    "security": "security",
    "performance": "performance",
    "complexity": "complexity",
    "style": "style",
    "a11y": "accessibility",
}


@report_parser("biome")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    analysis = rdjson.parse_dialect(output, sources, tool, DIALECT)
    analysis = with_unparsed(analysis, lambda rule: rule.partition("/")[0] == "parse")
    absent = [each for each in analysis.findings if each.rule == _FAILED and not each.spot.path]
    named = {_find_absent(each, sources): f"it says: {each.title}" for each in absent}
    findings = [each for each in analysis.findings if each not in absent]
    return replace(
        analysis,
        findings=tuple(map(_rank_finding, findings)),
        missed={path: why for path, why in named.items() if path},
        unread=tuple(sorted({*analysis.unread, *named})),
    )


def _find_absent(finding: Finding, sources: Sources) -> str:
    """Return the file that biome says it could not open; '' if it does not name it."""
    said = _ABSENT.match(finding.title)
    return sources.tracked_path(said["file"]) if said else ""


def _rank_finding(finding: Finding) -> Finding:
    """Return the finding with its category by rule group; a syntax error is critical."""
    group, _, rest = finding.rule.partition("/")
    if group == "parse":
        return replace(finding, severity=Severity.CRITICAL, category="correctness")
    return replace(finding, category=_CATEGORIES.get(rest.partition("/")[0], ""))


def _list_looked(summary: bytes, sources: Sources) -> frozenset[str] | None:
    text = summary.decode("utf-8", "replace")
    listed = text.partition("Files processed:")[2].partition("Files fixed:")[0]
    counts = _CHECKED.findall(text)
    return believe_names(_LISTED.findall(listed), sources, int(counts[-1]) if counts else None)


class Biome(AnalyzerTool):
    name = "biome"
    suffixes = (*SCRIPTS, ".json", ".jsonc", ".css", ".graphql")
    steered_by = ("biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc")
    configuration = ConfigurationKeys(
        files=dict.fromkeys(steered_by, ""),
        named=("extends", "plugins", "overrides.*.plugins"),
        harmless=("//",),
    )
    suppressed_by = (r"(?://|/\*)\s*biome-ignore",)
    # The second report is the list of the files that it processed.
    options = tuple(
        "lint --reporter=rdjson --reporter=summary --verbose --max-diagnostics=none --colors=off"
        " --no-errors-on-unmatched".split()
    )
    parser = staticmethod(parse)

    def wants_file(self, path: str, tree: Tree) -> bool:
        return super().wants_file(path, tree) and not path.endswith(_PROTECTED)

    def find_exclusion(self, tree: Tree) -> str:
        files = find_files(tree, *self.steered_by)
        return next((path for path in files if _EXCLUDES.search(tree.text(path) or "")), "")

    def parse_output(self, ran: ProcessResult, sources: Sources) -> Analysis:
        report, end, summary = ran.stdout.partition(b"\n}\n")
        analysis = self.parser(report + end, sources)
        return replace(analysis, looked=_list_looked(summary, sources))

    def skip_reason(self, tree: Tree) -> str:
        """Let it look by its own defaults, too, unless the project configures eslint alone."""
        configured = self.asked or find_files(tree, *self.steered_by)
        others = not configured and configures_eslint(tree)
        return "the project has settings for eslint, and none for biome" if others else ""
