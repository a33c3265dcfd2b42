"""Access as a GitHub App: its key, the tokens that it makes, and git's login with one."""
