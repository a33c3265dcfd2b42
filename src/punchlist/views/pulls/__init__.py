"""A pull request: what is said on it, and what punchlist shows there. Pure."""
