"""Re-execute what a commit claims, in any clone, with the evidence that was exported."""
