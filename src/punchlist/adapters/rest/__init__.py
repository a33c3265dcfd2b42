"""Requests to the REST APIs of forges: one client, its retries, and where a repository is."""
