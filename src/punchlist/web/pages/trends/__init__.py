"""The page of a repository over time."""
