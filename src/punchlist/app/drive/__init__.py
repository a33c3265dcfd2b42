"""Drive runs: in the background, with answers, stop and resume."""
