"""Forges: where pull requests are."""
