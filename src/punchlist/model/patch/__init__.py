"""Patches, diffs, and conversion of lines to offsets."""
