"""Biome: JavaScript, TypeScript, JSON and CSS, by its rdjson report (Biome 2.4 and later)."""

from msgspec.structs import replace

from punchlist.adapters.analyzers.configuration.declared import ConfigurationKeys
from punchlist.adapters.analyzers.entries import report_parser, with_unparsed
from punchlist.adapters.analyzers.formats import rdjson
from punchlist.adapters.analyzers.tool import SCRIPTS, AnalyzerTool, find_files
from punchlist.intake.source_files import Sources
from punchlist.model.finding.finding import Finding
from punchlist.model.finding.severity import Severity
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

# Its columns count characters, with the byte order mark; its suggestions are parts of one fix.
DIALECT = rdjson.RdjsonDialect(
    bytewise=False, one_fix=True, ranks={"error": Severity.MAJOR, "warning": Severity.MINOR}
)

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
    return replace(analysis, findings=tuple(map(_rank_finding, analysis.findings)))


def _rank_finding(finding: Finding) -> Finding:
    """Return the finding with its category by rule group; a syntax error is critical."""
    group, _, rest = finding.rule.partition("/")
    if group == "parse":
        return replace(finding, severity=Severity.CRITICAL, category="correctness")
    return replace(finding, category=_CATEGORIES.get(rest.partition("/")[0], ""))


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
    options = tuple(
        "lint --reporter=rdjson --max-diagnostics=none --colors=off"
        " --no-errors-on-unmatched".split()
    )
    parser = staticmethod(parse)

    def skip_reason(self, tree: Tree) -> str:
        configured = self.asked or find_files(tree, *self.steered_by)
        return "" if configured else "the project has no settings for biome"
