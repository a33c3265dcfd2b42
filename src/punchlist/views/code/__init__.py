"""Code as people read it."""
