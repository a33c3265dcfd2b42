"""The ledger on disk, and the leases that keep a run in one process."""
