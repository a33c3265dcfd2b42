"""The state that a fleet shares: the ledger, leases and stop requests in PostgreSQL."""
