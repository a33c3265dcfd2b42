"""Findings given as files, in several formats."""
