"""Server-Sent Events made from the ledger."""
