"""The use cases every surface calls, and the wiring behind them."""

from punchlist.app.after.audit import Audit
from punchlist.app.app import App
from punchlist.app.doctor import Probe
from punchlist.app.start.request import Prepared, Request

__all__ = ["App", "Audit", "Prepared", "Probe", "Request"]
