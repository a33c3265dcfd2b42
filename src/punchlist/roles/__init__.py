"""Roles: prompts in, typed replies out."""
