"""The HTTP surface: reads the ledger, calls the use cases of `app`, and owns no rule; what needs a
server is imported late.
"""
