"""Detect and run the project's own checks against a work tree."""

from punchlist.adapters.checks.detect import detect
from punchlist.adapters.checks.kept_output import trim_output
from punchlist.adapters.checks.runner import LocalCheckRunner

__all__ = ["LocalCheckRunner", "detect", "trim_output"]
