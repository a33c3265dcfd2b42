"""Merge requests on GitLab, by its REST API."""
