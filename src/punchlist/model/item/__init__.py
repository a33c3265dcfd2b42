"""Items, batches, claims, proofs and scores."""
