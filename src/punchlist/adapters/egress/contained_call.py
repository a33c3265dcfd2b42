"""One call of an agent: its variables, what it may reach, and the record of what it did."""

from dataclasses import dataclass, field

from punchlist.adapters.egress.door import Egress
from punchlist.adapters.egress.traffic import EgressLog
from punchlist.model.ledger.events import Contained, HostBytes

OPEN = "reaches any host and holds its key"
_NAMED = 3


@dataclass(frozen=True)
class ContainedCall:
    """Without `egress` it has the network."""

    child: str
    label: str
    env: dict[str, str] = field(repr=False)
    egress: Egress | None = None
    held: tuple[str, ...] = ()
    """Variables whose key the proxy holds."""
    weaknesses: tuple[str, ...] = ()
    sandbox: str = "bubblewrap"

    def describe(self) -> Contained:
        """Return the event that says what held the call, and what it reached."""
        log = self.egress.log if self.egress else EgressLog()
        return Contained(
            child=self.child,
            label=self.label,
            sandbox=self.sandbox,
            weaknesses=tuple(f"{self.child}: {each}" for each in self.weaknesses),
            keys_held=self.held,
            reached={
                host: HostBytes(each.connections, each.sent, each.received)
                for host, each in log.reached.items()
            },
            refused=log.refusals,
        )

    def explain_failure(self, failed: str) -> str:
        """Return why the call failed, with the hosts that it was kept from."""
        if not failed or self.egress is None or not self.egress.log.refused:
            return failed
        tried = dict.fromkeys(each.target for each in self.egress.log.refused if each.target)
        hosts = ", ".join(list(tried)[:_NAMED])
        listed = "list a host in agents.hosts to let it through"
        return f"{failed} (it was kept from {hosts}; {listed})" if hosts else failed
