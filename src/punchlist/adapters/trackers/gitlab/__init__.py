"""Issues on GitLab, by its REST API."""
