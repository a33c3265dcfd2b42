"""The use cases every surface calls, and the wiring behind them."""

from punchlist.app.after.audit import Audit
from punchlist.app.doctor import Probe
from punchlist.app.session import Session
from punchlist.app.start.request import Prepared, Request

__all__ = ["Audit", "Prepared", "Probe", "Request", "Session"]
