"""Frozen data and pure rules: what a finding, an item, a proof and a run are."""
