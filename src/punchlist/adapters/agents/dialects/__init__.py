"""Dialects: how each agent program is called and its output parsed."""
