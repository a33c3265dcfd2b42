"""Protocols of one to three methods behind which everything outside lives: one module per port
(agent, analyzer, artifacts, checks, compare, fixer, repository, roles, store, tracker, tree), and
`world.World`, which holds them.
"""
