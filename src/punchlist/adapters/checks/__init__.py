"""The project's own checks: found, run so that they judge the work tree, and believed only as far
as the outside can see.
"""

from punchlist.adapters.checks.detect import detect
from punchlist.adapters.checks.kept_output import trimmed
from punchlist.adapters.checks.runner import Runner

__all__ = ["Runner", "detect", "trimmed"]
