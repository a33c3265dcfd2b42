"""Detect and run the project's own checks against a work tree."""
