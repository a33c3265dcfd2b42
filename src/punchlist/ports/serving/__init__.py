"""The ports to what servers share beside the ledger: who may call them, and what was asked."""
