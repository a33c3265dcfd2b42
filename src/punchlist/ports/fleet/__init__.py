"""The ports of a fleet."""
