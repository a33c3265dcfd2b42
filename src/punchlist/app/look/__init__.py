"""What editors show and do: a look at saved files, and the fixes that a run has proven."""
