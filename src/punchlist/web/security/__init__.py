"""Tokens, request checks and idempotency keys."""
