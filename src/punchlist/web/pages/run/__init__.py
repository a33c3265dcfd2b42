"""The page of one run: board, timeline, live updates, actions."""
