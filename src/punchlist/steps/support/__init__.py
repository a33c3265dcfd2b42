"""Helpers of the verbs: agent fixes, batching, canaries and project context."""
