"""The first page: runs and repositories."""
