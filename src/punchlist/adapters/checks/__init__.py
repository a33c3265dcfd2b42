"""Detect and run the project's own checks against a work tree."""

from punchlist.adapters.checks.detect import detect
from punchlist.adapters.checks.kept_output import trim_output
from punchlist.adapters.checks.project_files.find import FoundChecks, find_project_checks
from punchlist.adapters.checks.runner import LocalCheckRunner

__all__ = ["FoundChecks", "LocalCheckRunner", "detect", "find_project_checks", "trim_output"]
