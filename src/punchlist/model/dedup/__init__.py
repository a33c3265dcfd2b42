"""Match findings between trees, and merge duplicates."""
