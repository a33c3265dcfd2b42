"""The ledger on disk, and the leases that keep one run in one process."""
