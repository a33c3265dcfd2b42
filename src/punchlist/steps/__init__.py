"""The verbs: one file each, a pure step and the performers of its actions."""

from punchlist.steps import commit, consolidate, fix, plan, report, review, verify
from punchlist.steps.verb import Action, Verb

VERBS: dict[str, Verb] = {
    "review": review.VERB,
    "consolidate": consolidate.VERB,
    "plan": plan.VERB,
    "fix": fix.VERB,
    "verify": verify.VERB,
    "commit": commit.VERB,
    "report": report.VERB,
}

__all__ = ["VERBS", "Action", "Verb"]
