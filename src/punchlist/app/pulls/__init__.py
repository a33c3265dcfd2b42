"""Pull requests: take what is said there as findings, and show there what came of it."""
