"""A review as linters tell it: diagnostics by file and line, statistics, and what is missing."""
