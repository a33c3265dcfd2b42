"""The port to forges: GitHub, GitLab and their kind."""
