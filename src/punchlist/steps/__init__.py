"""The verbs of the workflow language, one file each: a pure step and the
performers of its actions.
"""

from punchlist.steps import (
    challenge,
    clarify,
    commit,
    consolidate,
    fix,
    measure,
    plan,
    report,
    reproduce,
    review,
    verify,
)
from punchlist.steps.verb import Action, Verb

VERBS: dict[str, Verb] = {
    "review": review.VERB,
    "consolidate": consolidate.VERB,
    "clarify": clarify.VERB,
    "reproduce": reproduce.VERB,
    "plan": plan.VERB,
    "fix": fix.VERB,
    "verify": verify.VERB,
    "measure": measure.VERB,
    "challenge": challenge.VERB,
    "commit": commit.VERB,
    "report": report.VERB,
}

__all__ = ["VERBS", "Action", "Verb"]
