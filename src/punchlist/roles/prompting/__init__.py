"""Prompts: templates, sections, size budget and fencing of untrusted text."""
