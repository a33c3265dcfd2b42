"""Punchlist in a CI job: find out where it runs, do what fits the event, and leave reports."""
