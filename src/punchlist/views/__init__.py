"""Pure read models and texts made from a run."""
