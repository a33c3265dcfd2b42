"""Use cases after a run: audit, replay, dismissals, reports, second look, clean-up."""
