"""The dashboard: pages rendered here, of what the ledger says; what needs a server
is in `router`.
"""
