"""The plan of a run as files that a user may edit, and their structs."""
