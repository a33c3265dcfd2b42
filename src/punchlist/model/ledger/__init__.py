"""Events, the hash chain, and the fold of events into a run."""
