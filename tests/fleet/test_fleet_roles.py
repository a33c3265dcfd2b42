"""Two users and three database roles: what each needs works, and PostgreSQL refuses the rest."""

import os
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg import errors, sql

import needs
from fleet_world import wait_for
from punchlist.adapters.postgres.roles import GRANTS
from punchlist.adapters.postgres.state import PostgresState
from punchlist.app.stores import upgrade_store
from punchlist.model.ledger.events import Answered, Ended, Entry
from punchlist.model.ledger.hash_chain import encode_line, link_entry
from punchlist.ports.state import StopRequest

LOGINS = {"ada": "queue", "eve": "queue", "worker": "drive", "server": "serve"}
"""Each has its duty; two of them queue runs."""
NOBODY = 65534


@pytest.fixture
def logins(fleet):
    """By name, the URL with which a user of the database connects."""
    server, _, name = fleet.url.rpartition("/")
    place = server.rpartition("@")[2]
    for login, duty in LOGINS.items():
        if not fleet.base.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (login,)).fetchone():
            fleet.base.execute(
                f"CREATE ROLE {login} LOGIN; GRANT punchlist_{duty} TO {login}".encode()
            )
    return {login: f"postgresql://{login}@{place}/{name}" for login in LOGINS}


def use(fleet, url):
    """Let the commands of the fleet connect as this user."""
    fleet.url = url


def queue_as(fleet, url, branch="feature"):
    use(fleet, url)
    return fleet.enqueue(branch)


def test_a_run_goes_through_the_hands_of_three_roles(fleet, logins):
    run = queue_as(fleet, logins["ada"])
    assert fleet.job(run).state == "queued"
    assert "queued" in fleet.command("list")
    assert run in fleet.command("queue")
    use(fleet, logins["worker"])
    worker = fleet.start_worker("a")
    fleet.wait_ended(run)
    fleet.check_once(run)
    assert fleet.job(run).worker == worker.id
    use(fleet, logins["server"])
    assert '"ended"' in fleet.command("status", run, "--json")
    fleet.command("dismiss", run, "1", "--why", "not here", code=2)
    assert "wrong" not in fleet.command("audit", run)


def test_who_queues_stops_and_answers_for_runs_of_his_own(fleet, logins):
    mine, other = queue_as(fleet, logins["ada"]), queue_as(fleet, logins["eve"], "other")
    use(fleet, logins["ada"])
    fleet.command("stop", other, code=2)
    assert fleet.job(other).state == "queued"
    fleet.command("stop", mine)
    assert fleet.job(mine).state == "stopped"
    fleet.command("resume", mine, "--queue")
    assert fleet.job(mine).state == "queued"
    with closing(PostgresState(logins["ada"], Path())) as state:
        state.stops.request(mine, StopRequest("ada"))
        state.stops.clear(mine)
        with state.leases.acquire(mine):
            state.store.append(mine, "people", "1", Answered(choice="x", by="ada"), 1.0)
        assert state.claim_run("261118-abcdef")
        assert not state.claim_run("261118-abcdef")


def test_a_newer_run_of_another_user_does_not_supersede(fleet, logins):
    mine = queue_as(fleet, logins["ada"])
    use(fleet, logins["eve"])
    fleet.enqueue_here(**fleet.robot)
    assert fleet.job(mine).state == "queued"
    use(fleet, logins["ada"])
    fleet.enqueue_here(**fleet.robot)
    assert fleet.job(mine).state == "superseded"


EVERY_ROLE = {
    "alter an entry": "UPDATE entries SET line = ''",
    "alter an entry's cost": "UPDATE entries SET dollars = 0",
    "delete entries": "DELETE FROM entries",
    "empty the ledger": "TRUNCATE entries CASCADE",
    "write an entry past the fence": """INSERT INTO entries
        (run, seq, at, place, key, kind, hash, line) VALUES ('{run}', 99, 1, '', '', 'ended', '', '')""",
    "alter a run": "UPDATE runs SET outcome = 'clean'",
    "take a run over": "UPDATE runs SET owner = session_user",
    "delete a run": "DELETE FROM runs",
    "delete a job": "DELETE FROM jobs",
    "empty the queue": "TRUNCATE jobs CASCADE",
    "take a held lease": "UPDATE fences SET epoch = epoch + 1 WHERE name = 'held'",
    "put an epoch back": "UPDATE fences SET epoch = 0 WHERE name = 'held'",
    "free the lease of another": "UPDATE fences SET until = '-infinity' WHERE name = 'held'",
    "lengthen the lease of another": "UPDATE fences SET until = 'infinity' WHERE name = 'held'",
    "hold a lease in another name": "UPDATE fences SET holder = 'worker'",
    "rename a lease": "UPDATE fences SET name = 'x' WHERE name = 'held'",
    "delete a lease": "DELETE FROM fences WHERE name = 'held'",
    "empty the leases": "TRUNCATE fences",
    "take a duty": "UPDATE duties SET role = session_user",
    "add a duty": "INSERT INTO duties VALUES ('other', session_user)",
    "read the duties": "SELECT * FROM duties",
    "alter the version": "UPDATE punchlist_schema SET version = 99",
    "allow for another": "INSERT INTO consents (owner, repository, fingerprint) VALUES ('ada', '', '')",
    "allow for all": "INSERT INTO allowances VALUES ('machine:x', 'y')",
    "revoke what another allowed": "DELETE FROM consents WHERE owner = 'punchlist'",
    "make a function": "CREATE FUNCTION entries_of() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "shadow a function": """CREATE FUNCTION punchlist_may(x name) RETURNS boolean LANGUAGE sql
        AS 'SELECT true'""",
    "replace a function": """CREATE OR REPLACE FUNCTION punchlist_unbound() RETURNS boolean
        LANGUAGE sql AS 'SELECT true'""",
    "alter the path of a function": "ALTER FUNCTION punchlist_unbound() SET search_path = pg_temp",
    "make a table": "CREATE TABLE mine (x int)",
    "make a trigger": "CREATE TRIGGER t BEFORE INSERT ON entries EXECUTE FUNCTION punchlist_guard_jobs()",
    "drop a guard": "DROP TRIGGER guard ON fences",
    "switch guards off": "ALTER TABLE fences DISABLE TRIGGER ALL",
    "switch all triggers off": "SET session_replication_role = replica",
    "make a role": "CREATE ROLE mine",
    "join the drivers": "GRANT punchlist_drive TO eve",
    "be the owner": "SET ROLE punchlist",
    "be another session": "SET SESSION AUTHORIZATION punchlist",
    "alter the path of all": "ALTER DATABASE {database} SET search_path = pg_temp",
    "read a file": "SELECT pg_read_file('/etc/passwd')",
    "run a program": "COPY (SELECT 1) TO PROGRAM 'id'",
}
NOT_SERVING = {
    "read tokens": "SELECT * FROM tokens",
    "make a token": "INSERT INTO tokens (id, role, name, hash) VALUES ('x', 'admin', 'x', 'x')",
    "read the key of cookies": "SELECT * FROM secrets",
    "read sign-in codes": "SELECT * FROM sign_in_codes",
    "read notices": "SELECT * FROM pull_notices",
    "register a repository": "INSERT INTO repositories (id, name, root, git_dir) VALUES ('', '', '', '')",
}
NOT_DRIVING = {
    "alter what is queued": "UPDATE jobs SET source = '/elsewhere'",
    "alter who may take it": "UPDATE jobs SET label = ''",
    "alter its agents": "UPDATE jobs SET agents = '{{}}'",
    "give a run to a worker": "UPDATE jobs SET state = 'running' WHERE run = '{run}'",
    "end a run": "UPDATE jobs SET state = 'ended' WHERE run = '{run}'",
    "name its worker": "UPDATE jobs SET worker = 'me'",
    "change a run under way": "UPDATE jobs SET state = 'stopped' WHERE run = '{busy}'",
    "queue a run of another": """INSERT INTO jobs (run, repository, branch, source, label, agents,
        subject, priority, protocol, state)
        VALUES ('{local}', '', '', '', '', '{{}}', '', 1, 1, 'queued')""",
    "register a worker": """INSERT INTO workers (id, machine, pid, labels, width, version, until)
        VALUES ('me', '', 1, '{{}}', 1, '', 'infinity')""",
    "end a worker": "DELETE FROM workers",
    "write a unit": "UPDATE units SET over = true",
    "write what was measured": "INSERT INTO cache VALUES ('x', 'y')",
    "forget what was measured": "DELETE FROM cache",
    "see DBOS": "SELECT * FROM dbos.workflow_status",
    "start a workflow": "INSERT INTO dbos.workflow_status (workflow_uuid) VALUES ('x')",
    "add a schedule": "INSERT INTO dbos.workflow_schedules (schedule_id) VALUES ('x')",
}
QUEUEING = {
    "change the job of another": "UPDATE jobs SET state = 'stopped' WHERE run = '{run}'",
    "jump the queue for another": "UPDATE jobs SET priority = 1 WHERE run = '{run}'",
    "stop the run of another": "INSERT INTO stops VALUES ('{run}', 'eve')",
    "take the lease of another's run": "INSERT INTO fences (name, epoch) VALUES ('{run}', 7)",
    "take the lease of a server": "INSERT INTO fences (name) VALUES ('server x')",
    "claim a key": "INSERT INTO request_keys (key, request, run) VALUES ('x', '', '')",
    "forget keys": "DELETE FROM request_keys",
}
REFUSED = [
    pytest.param(login, statement, id=f"{login}: {what}")
    for logins, statements in (
        (("eve", "worker", "server"), EVERY_ROLE),
        (("eve", "worker"), NOT_SERVING),
        (("eve", "server"), NOT_DRIVING),
        (("eve",), QUEUEING),
    )
    for login in logins
    for what, statement in statements.items()
]


@pytest.fixture(scope="module")
def attacked(fleet_server):
    """A database with the run of one user, one under way, one that is in no queue, a held lease."""
    name = "attacked"
    with psycopg.connect(f"{fleet_server}/postgres", autocommit=True) as base:
        base.execute("CREATE DATABASE attacked TEMPLATE made")
        for login, duty in LOGINS.items():
            known = "SELECT 1 FROM pg_roles WHERE rolname = %s"
            if not base.execute(known, (login,)).fetchone():
                base.execute(f"CREATE ROLE {login} LOGIN".encode())
                base.execute(f"GRANT punchlist_{duty} TO {login}".encode())
    with psycopg.connect(f"{fleet_server}/{name}", autocommit=True) as base:
        for run in ("mine", "busy", "local"):
            base.execute(
                "INSERT INTO runs (id, repository, started_at, head, entries, last_at, last_kind,"
                " latest_at, active, owner) VALUES (%s, '', 0, '', 1, 0, '', 0, 0, 'ada')",
                (run,),
            )
            base.execute(
                "INSERT INTO entries (run, seq, at, place, key, kind, hash, line)"
                " VALUES (%s, 1, 0, '', '', 'started', 'abc', '')",
                (run,),
            )
        for run, state in (("mine", "queued"), ("busy", "running")):
            base.execute(
                "INSERT INTO jobs (run, repository, branch, source, label, agents, subject,"
                " priority, state) VALUES (%s, '', '', '', '', '{}', '', 3, %s)",
                (run, state),
            )
        base.execute(
            "INSERT INTO fences (name, epoch, until) VALUES ('held', 3, now() + interval '1 h')"
        )
        base.execute("INSERT INTO consents (repository, fingerprint) VALUES ('x', 'y')")
        base.execute("INSERT INTO workers VALUES ('w', '', 1, '{}', 1, '', false, now(), now())")
        base.execute("INSERT INTO cache VALUES ('k', 'v')")
        base.execute("INSERT INTO request_keys VALUES ('k', '', '')")
        base.execute(
            "INSERT INTO units (id, run, epoch, driver, version, agents, task)"
            " VALUES ('u', 'busy', 1, '', '', '{}', '')"
        )
    yield f"{fleet_server}/{name}"
    with psycopg.connect(f"{fleet_server}/postgres", autocommit=True) as base:
        base.execute("DROP DATABASE attacked WITH (FORCE)")


def connect_as(url, login):
    return psycopg.connect(url.replace("//punchlist@", f"//{login}@"), autocommit=True)


@pytest.mark.parametrize(("login", "statement"), REFUSED)
def test_a_statement_that_is_not_of_its_duty_is_refused(attacked, login, statement):
    names = {"run": "mine", "busy": "busy", "local": "local", "database": "attacked"}
    with connect_as(attacked, login) as base, pytest.raises(errors.InsufficientPrivilege):
        base.execute(statement.format(**names).encode())


@pytest.mark.parametrize("login", ["eve", "worker", "server"])
def test_no_role_gives_rights_to_others(attacked, login):
    """PostgreSQL only warns of such a statement where the role has some other right."""
    with connect_as(attacked, login) as base:
        base.execute("GRANT ALL ON entries TO PUBLIC")
        with pytest.raises(errors.InsufficientPrivilege):
            base.execute("DELETE FROM entries")


def test_every_table_is_declared_for_the_roles_that_may_read_it(attacked):
    """A new table is of no role until it is declared."""
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    granted = (
        "SELECT has_table_privilege(%s, %s, 'SELECT') OR has_any_column_privilege(%s, %s, 'INSERT')"
    )
    with psycopg.connect(attacked) as base:
        for (table,) in base.execute(tables).fetchall():
            for duty, known in GRANTS.items():
                role = f"punchlist_{duty}"
                found = base.execute(granted, (role, table, role, table)).fetchone()[0]
                assert found == (table in known), f"{duty}: {table}"


def draft(event, *, run="mine", seq=2, prev="abc"):
    entry = Entry(run=run, seq=seq, at=1.0, place="people", key="k", event=event)
    return link_entry(entry, prev)


def append_as(url, login, entry, **forged):
    values = {
        "run": entry.run,
        "name": entry.run.encode(),
        "seq": entry.seq,
        "kind": entry.event.__struct_config__.tag,
        "hash": entry.hash,
        "line": encode_line(entry),
        "epoch": None,
        "dollars": 0.0,
        "outcome": "",
        **forged,
    }
    with connect_as(url, login) as base, base.transaction(force_rollback=True):
        return base.execute(
            "SELECT written FROM punchlist_append(%(run)s, %(name)s, %(seq)s, 1, 'people', 'k',"
            " %(kind)s, %(hash)s, %(line)s, %(epoch)s, %(dollars)s, 0, '', '', true, true, NULL,"
            " %(outcome)s, NULL)",
            values,
        ).fetchone()[0]


FINE = draft(Answered(choice="go-on", by="ada"))
FORGED = {
    "another kind in the line": (FINE, {"line": encode_line(draft(Ended(outcome="clean")))}),
    "an event twice": (
        FINE,
        {"line": encode_line(FINE).replace(b'"event":', b'"event":{"kind":"ended"},"event":', 1)},
    ),
    "a kind twice": (
        FINE,
        {"line": encode_line(FINE).replace(b'{"kind":', b'{"kind":"ended","kind":', 1)},
    ),
    "a move in an answer": (
        FINE,
        {"line": encode_line(FINE).replace(b'"choice"', b'"moves":[],"choice"', 1)},
    ),
    "another run in the line": (FINE, {"line": encode_line(draft(FINE.event, run="busy"))}),
    "a broken chain": (draft(FINE.event, prev="other"), {}),
    "a gap": (draft(FINE.event, seq=7), {}),
    "another hash": (FINE, {"hash": "0" * 64}),
    "an outcome": (FINE, {"outcome": "clean"}),
    "a cost": (FINE, {"dollars": -5.0}),
    "a kind of the driver": (FINE, {"kind": "committed"}),
    "nothing": (FINE, {"line": b""}),
}


def test_who_queued_a_run_and_who_serves_write_answers(attacked):
    assert append_as(attacked, "ada", FINE)
    assert append_as(attacked, "server", FINE)
    with pytest.raises(errors.InsufficientPrivilege):
        append_as(attacked, "eve", FINE)


@pytest.mark.parametrize("login", ["ada", "server"])
@pytest.mark.parametrize("what", FORGED)
def test_an_answer_carries_nothing_else_into_the_ledger(attacked, login, what):
    entry, forged = FORGED[what]
    refused = (errors.InsufficientPrivilege, errors.InvalidTextRepresentation)
    with pytest.raises(refused):
        append_as(attacked, login, entry, **forged)


def test_a_driver_writes_only_with_the_lease_of_the_run(attacked):
    event = draft(Ended(outcome="clean"))
    with pytest.raises(errors.InsufficientPrivilege, match="without the lease"):
        append_as(attacked, "worker", event)
    assert append_as(attacked, "worker", event, epoch=1) is False
    assert append_as(attacked, "worker", event, epoch=3, name=b"held") is False


def test_objects_of_a_user_do_not_take_the_place_of_the_tables(attacked):
    """Temporary tables come first in the path of their session, not in that of the functions."""
    with connect_as(attacked, "eve") as base:
        base.execute("CREATE TEMPORARY TABLE duties (duty text, role name)")
        base.execute("INSERT INTO duties VALUES ('drive', 'eve'), ('serve', 'eve')")
        base.execute("CREATE TEMPORARY TABLE entries (x int)")
        assert base.execute("SELECT punchlist_may('drive')").fetchone() == (False,)
        assert base.execute("SELECT punchlist_unbound()").fetchone() == (False,)
        base.execute("SET search_path = pg_temp")
        with pytest.raises((errors.InsufficientPrivilege, errors.UndefinedFunction)):
            base.execute("UPDATE public.fences SET epoch = epoch + 1")


def test_roles_with_names_of_ones_own_are_remembered_and_what_is_not_allowed_is_said(fleet_server):
    with psycopg.connect(f"{fleet_server}/postgres", autocommit=True) as base:
        base.execute("CREATE ROLE keeper LOGIN")
        base.execute("CREATE DATABASE kept OWNER keeper")
    url = f"{fleet_server}/kept".replace("//punchlist@", "//keeper@")
    done = upgrade_store(url, queue="team queue")
    assert done.todo == ('CREATE ROLE "team queue" NOLOGIN;',)
    assert done.roles == {"drive": "punchlist_drive", "serve": "punchlist_serve"}
    with psycopg.connect(f"{fleet_server}/postgres", autocommit=True) as base:
        for order in done.todo:
            base.execute(sql.SQL(order))
    again = upgrade_store(url)
    assert (again.todo, again.roles["queue"]) == ((), "team queue")
    with psycopg.connect(f"{fleet_server}/postgres", autocommit=True) as base:
        base.execute("DROP DATABASE kept WITH (FORCE)")
        base.execute('DROP ROLE "team queue"; DROP ROLE keeper')


def test_a_role_that_was_given_all_rights_by_hand_goes_on_as_before(fleet, fleet_url):
    server, _, name = fleet_url.rpartition("/")
    if not fleet.base.execute("SELECT 1 FROM pg_roles WHERE rolname = 'byhand'").fetchone():
        fleet.base.execute("CREATE ROLE byhand LOGIN")
    for schema in ("public", "dbos"):
        fleet.base.execute(f"GRANT ALL ON SCHEMA {schema} TO byhand".encode())
        fleet.base.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO byhand".encode())
    use(fleet, f"{server}/{name}".replace("//punchlist@", "//byhand@"))
    run = fleet.enqueue("feature")
    fleet.start_worker("a")
    fleet.wait_ended(run)
    fleet.check_once(run)


def run_as(user, command, **how):
    change = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return subprocess.run([*change, *command], capture_output=True, text=True, check=False, **how)


@pytest.fixture
def place():
    """A folder that other users of the machine get to."""
    with tempfile.TemporaryDirectory(prefix="punchlist-users-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="two users of the system need root")
def test_another_user_of_the_machine_queues_and_gets_nothing_of_the_workers_account(
    fleet, logins, place
):
    """The queuing user is `nobody`; the worker is root, with a secret in its home."""
    python = "/usr/bin/python3"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    has = run_as(NOBODY, [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
    if has.stdout.strip() != version:
        needs.miss(f"NOT TESTED: {python} is not Python {version}, which nobody could run")
    secret, marker, program = (place / name for name in ("secret", "marker", "agent.sh"))
    secret.write_text("CANARY\n")
    secret.chmod(0o600)
    home = place / "home"
    repository = place / "repo"
    fleet.push("feature")
    subprocess.run(["git", "clone", "--quiet", fleet.repo.root, repository], check=True)
    for words in (("branch", "main", "origin/main"), ("remote", "remove", "origin")):
        subprocess.run(["git", "-C", repository, *words], check=True)
    program.write_text(f"#!/bin/sh\n{{ id; cat {secret}; }} > {marker} 2>&1\necho '{{}}'\n")
    program.chmod(0o755)
    home.mkdir()
    (home / "settings.toml").write_text(
        "[agents]\nuse = ['evil']\nsandbox = false\n"
        f"[agent.evil]\nkind = 'command'\ncommand = ['{program}']\n"
    )
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", home, repository], check=True)
    source = Path(__file__).parents[2] / "src"
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "PYTHONPATH": f"{source}:{sysconfig.get_path('purelib')}",
        "PUNCHLIST_HOME": str(home / "state"),
        "PUNCHLIST_CONFIG": str(home / "settings.toml"),
        "PUNCHLIST_STORE": logins["eve"],
        "PUNCHLIST_OBJECTS": str(place / "artifacts"),
    }
    (place / "artifacts").mkdir(mode=0o777)
    (place / "artifacts").chmod(0o777)
    words = ["run", "--queue", "--json", "--no-checks", "--workflow", "challenged"]
    queued = run_as(NOBODY, [python, "-m", "punchlist", *words], cwd=repository, env=env)
    assert queued.returncode == 0, queued.stdout + queued.stderr
    use(fleet, logins["worker"])
    fleet.more = {"PUNCHLIST_OBJECTS": str(place / "artifacts")}
    fleet.start_worker("a", "--set", "sandbox.required=true")
    ((run,),) = fleet.base.execute("SELECT run FROM jobs").fetchall()
    wait_for(lambda: fleet.job(run).state == "stopped")
    assert "agent.evil.kind" in fleet.job(run).note
    assert not marker.exists()
    assert fleet.base.execute("SELECT owner FROM runs").fetchall() == [("eve",)]
