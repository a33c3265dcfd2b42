"""The live view of a run on a terminal, for people who would rather look than read."""
