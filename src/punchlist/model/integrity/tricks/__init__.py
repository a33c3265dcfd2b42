"""Detect code that asks how it is run, and names that it hides."""
