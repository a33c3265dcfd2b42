"""The database roles of a fleet, and what each may do: to queue runs, to drive them, to serve."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

Connection = psycopg.Connection[Any]
_ALL = "SELECT, INSERT, UPDATE, DELETE"
_JOB = "run, repository, branch, source, label, agents, subject, priority, protocol, state"
_QUEUES = f"SELECT, INSERT ({_JOB}), UPDATE (state, priority, deaths, note, queued_at, not_before)"
_LEASES = (
    "SELECT, INSERT (name, epoch, run, machine, pid, until),"
    " UPDATE (epoch, run, machine, pid, until)"
)
_CONSENTS = "SELECT, INSERT (repository, fingerprint), DELETE"
_STOPS = "SELECT, INSERT, UPDATE (by), DELETE"
_READS = dict.fromkeys(
    ("punchlist_schema", "runs", "entries", "workers", "units", "allowances"), "SELECT"
)
GRANTS: dict[str, dict[str, str]] = {
    "queue": {**_READS, "jobs": _QUEUES, "fences": _LEASES, "stops": _STOPS, "consents": _CONSENTS},
    "drive": {
        **_READS,
        "jobs": "SELECT, INSERT, UPDATE",
        "fences": _LEASES,
        "stops": _STOPS,
        "consents": _CONSENTS,
        "workers": _ALL,
        "units": _ALL,
        "cache": "SELECT, INSERT, DELETE",
        "request_keys": "SELECT, INSERT, DELETE",
    },
    "serve": {
        **_READS,
        "jobs": _QUEUES,
        "fences": f"{_LEASES}, DELETE",
        "stops": _STOPS,
        "consents": _CONSENTS,
        "cache": "SELECT",
        "request_keys": "SELECT, INSERT, DELETE",
        "repositories": _ALL,
        "pull_notices": _ALL,
        "tokens": _ALL,
        "secrets": "SELECT, INSERT",
        "ended_sessions": _ALL,
        "sign_in_codes": _ALL,
    },
}
"""By duty and table. Nothing is written into `entries` and `runs` but by `punchlist_append`."""
_DBOS = "dbos"
_WORKFLOWS = (
    "GRANT USAGE ON SCHEMA {dbos} TO {role}",
    f"GRANT {_ALL} ON ALL TABLES IN SCHEMA {{dbos}} TO {{role}}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {dbos} TO {role}",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {dbos} TO {role}",
)


class RoleNames(NamedTuple):
    """The roles of the three duties; '' for the one that was chosen before, or the usual one."""

    queue: str = ""
    drive: str = ""
    serve: str = ""


class GrantedRoles(NamedTuple):
    """`roles`: by duty, those that have their rights now; `todo`: what an administrator must
    execute before the command is repeated.
    """

    roles: dict[str, str]
    todo: tuple[str, ...] = ()


def write_grants(base: Connection, names: RoleNames) -> GrantedRoles:
    """Make the roles that are missing, and give each exactly what its duty needs."""
    with base.transaction():
        ((schema,),) = base.execute("SELECT current_schema()").fetchall()
        wanted = _choose_names(base, names)
        todo = [
            f"CREATE ROLE {_quote(base, role)} NOLOGIN"
            for role in wanted.values()
            if not _has_role(base, role)
        ]
        for duty, role in wanted.items():
            if _has_role(base, role):
                for statement in _list_statements(duty, schema, role):
                    base.execute(statement)
        todo += _close_schema(base, schema, wanted.values())
    known = {duty: role for duty, role in wanted.items() if _has_role(base, role)}
    return GrantedRoles(known, tuple(f"{each};" for each in todo))


def _choose_names(base: Connection, names: RoleNames) -> dict[str, str]:
    """Note which role has which duty, and make those that this role may make."""
    before = dict(base.execute("SELECT duty, role FROM duties").fetchall())
    wanted = {
        duty: name or before.get(duty, f"punchlist_{duty}")
        for duty, name in names._asdict().items()
    }
    for duty, role in wanted.items():
        base.execute(
            "INSERT INTO duties (duty, role) VALUES (%s, %s)"
            " ON CONFLICT (duty) DO UPDATE SET role = excluded.role",
            (duty, role),
        )
        if not _has_role(base, role):
            _make_role(base, role)
    return wanted


def _make_role(base: Connection, role: str) -> None:
    """Make the role if that is allowed; another process may do the same at this moment."""
    try:
        with base.transaction():
            base.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
    except (
        psycopg.errors.InsufficientPrivilege,
        psycopg.errors.DuplicateObject,
        psycopg.errors.UniqueViolation,
    ):
        return


def _has_role(base: Connection, role: str) -> bool:
    return bool(base.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone())


def _list_statements(duty: str, schema: str, role: str) -> Iterator[sql.Composed]:
    who, place = sql.Identifier(role), sql.Identifier(schema)
    yield sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {} FROM {}").format(place, who)
    yield sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(place, who)
    for table, rights in GRANTS[duty].items():
        words = "GRANT " + rights + " ON {} TO {}"
        yield sql.SQL(words).format(sql.Identifier(schema, table), who)
    if duty == "drive":
        for words in _WORKFLOWS:
            yield sql.SQL(words).format(dbos=sql.Identifier(_DBOS), role=who)


def _close_schema(base: Connection, schema: str, roles: Any) -> list[str]:
    """Take from all the right to make functions and tables in the schema; return what an
    administrator must do where this role may not.
    """
    can = "SELECT bool_or(has_schema_privilege(rolname, %s, 'CREATE')) FROM pg_roles"
    can += " WHERE rolname = ANY(%s)"
    order = sql.SQL("REVOKE CREATE ON SCHEMA {} FROM PUBLIC").format(sql.Identifier(schema))
    values = (schema, list(roles))
    if base.execute(can, values).fetchone() == (True,):
        base.execute(order)
    return [order.as_string(base)] if base.execute(can, values).fetchone() == (True,) else []


def _quote(base: Connection, role: str) -> str:
    return sql.Identifier(role).as_string(base)
