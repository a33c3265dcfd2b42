"""A sentence here: what is in this room."""
