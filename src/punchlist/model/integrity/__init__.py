"""Detect fixes that cheat: suppressions, deleted code, runner tricks, weak excuses."""
