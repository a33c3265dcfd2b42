"""Markdown findings documents."""

from punchlist.intake.markdown_findings import is_findings, read_markdown
from punchlist.intake.source_files import Sources
from punchlist.ports.analyzer import Analysis

__all__ = ["is_findings", "parse"]


def parse(content: bytes, sources: Sources, name: str) -> Analysis:
    findings, refused = read_markdown(content.decode(), sources, name)
    return Analysis(findings=findings, refused=refused)
