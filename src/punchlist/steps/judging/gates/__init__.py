"""How linters, formatters and doctests that are green on the base are kept green."""
