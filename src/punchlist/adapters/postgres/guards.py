"""What PostgreSQL itself refuses: rules on single rows that grants on tables cannot say.

All functions run with the search path of the schema that they are in. Whoever has the right to
insert into `entries` is bound by no duty: the owner of the tables, and roles that were given all
rights by hand.
"""

GUARDS = """
  ALTER TABLE runs ADD COLUMN owner name NOT NULL DEFAULT session_user;
  ALTER TABLE fences ADD COLUMN holder name NOT NULL DEFAULT session_user;
  CREATE TABLE consents (
    owner name NOT NULL DEFAULT session_user,
    repository text NOT NULL,
    fingerprint text NOT NULL,
    PRIMARY KEY (owner, repository, fingerprint)
  );
  CREATE TABLE duties (duty text PRIMARY KEY, role name NOT NULL);

  CREATE FUNCTION punchlist_unbound() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT has_table_privilege(session_user, 'entries', 'INSERT')
  $$;

  CREATE FUNCTION punchlist_may(wanted text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT punchlist_unbound() OR EXISTS (
      SELECT FROM duties JOIN pg_roles ON rolname = role
      WHERE duty = wanted AND pg_has_role(session_user, pg_roles.oid, 'MEMBER'))
  $$;

  CREATE FUNCTION punchlist_acts_for(wanted text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT punchlist_may('drive') OR punchlist_may('serve') OR (punchlist_may('queue')
      AND EXISTS (SELECT FROM runs WHERE id = wanted AND owner = session_user))
  $$;

  CREATE FUNCTION punchlist_refuse(what text) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'role % may not %', session_user, what USING ERRCODE = 'insufficient_privilege';
  END $$;

  CREATE FUNCTION punchlist_is_plain(run text, seq integer, kind text, prev text, hash text,
    line bytea) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
  DECLARE
    plain text := replace(convert_from(line, 'UTF8'), '\\u0000', '\\u0001');
    event json := plain::json -> 'event';
    ending bytea := convert_to(',"prev":"' || prev || '","hash":"' || hash || '"}', 'UTF8');
    chained bytea := convert_to(',"prev":"' || prev || '"}', 'UTF8');
    rest integer := length(line) - length(ending);
  BEGIN
    RETURN rest > 0 AND substring(line FROM rest + 1) = ending
      AND encode(sha256(substring(line FROM 1 FOR rest) || chained), 'hex') = hash
      AND ARRAY(SELECT json_object_keys(plain::json))
        = ARRAY['run', 'seq', 'at', 'place', 'key', 'event', 'prev', 'hash']
      AND plain::json ->> 'run' = run AND plain::json ->> 'seq' = seq::text
      AND event ->> 'kind' = kind
      AND NOT EXISTS (SELECT FROM json_object_keys(event) AS name GROUP BY name
        HAVING count(*) > 1 OR name IN ('usage', 'worker', 'weaknesses')
          OR name = 'pins' AND kind <> 'started' OR name = 'moves' AND kind <> 'dismissed')
      AND (kind <> 'dismissed' OR event -> 'moves' IS NULL OR (
        SELECT bool_and(move ->> 'fact' IN ('dismissed', 'restored', 'filed') AND NOT EXISTS (
          SELECT FROM json_object_keys(move) AS name GROUP BY name
          HAVING count(*) > 1 OR name = 'proofs'))
        FROM json_array_elements(event -> 'moves') AS move));
  END $$;

  CREATE FUNCTION punchlist_append(_run text, _name bytea, _seq integer, _at double precision,
    _place bytea, _key bytea, _kind text, _hash text, _line bytea, _epoch bigint,
    _dollars double precision, _unpriced integer, _repository bytea, _identity bytea,
    _people boolean, _idle boolean, _ended double precision, _outcome text, _ended_seq integer)
    RETURNS TABLE (held boolean, written boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  BEGIN
    IF NOT punchlist_may('drive') THEN
      IF _kind = 'started' AND (_seq <> 1 OR NOT (punchlist_may('queue') OR punchlist_may('serve')))
        OR _kind <> 'started' AND NOT punchlist_acts_for(_run) THEN
        PERFORM punchlist_refuse('write into the ledger of run ' || _run);
      ELSIF _kind NOT IN ('started', 'interrupted', 'answered', 'dismissed', 'ordered', 'shown')
        OR _dollars <> 0 OR _unpriced <> 0 OR _ended IS NOT NULL OR _outcome <> '' THEN
        PERFORM punchlist_refuse('write ' || _kind || ' into a ledger');
      ELSIF NOT EXISTS (SELECT FROM entries WHERE run = _run AND seq = _seq)
        AND punchlist_is_plain(_run, _seq, _kind, coalesce((SELECT entries.hash FROM entries
          WHERE run = _run AND seq = _seq - 1), CASE WHEN _seq = 1 THEN '' END), _hash, _line)
          IS NOT TRUE THEN
        PERFORM punchlist_refuse('write a line that is not what its columns say');
      END IF;
    ELSIF _epoch IS NULL AND NOT punchlist_unbound() AND _kind NOT IN
      ('started', 'interrupted', 'answered', 'dismissed', 'ordered', 'shown') THEN
      PERFORM punchlist_refuse('write ' || _kind || ' without the lease of run ' || _run);
    END IF;
    IF _epoch IS NOT NULL THEN
      PERFORM FROM fences WHERE name = convert_to(_run, 'UTF8') AND name = _name
        AND epoch = _epoch FOR SHARE;
      IF NOT FOUND THEN
        RETURN QUERY SELECT false, false;
        RETURN;
      END IF;
    END IF;
    WITH put AS (
      INSERT INTO entries (run, seq, at, place, key, kind, hash, line, epoch, dollars, unpriced)
      VALUES (_run, _seq, _at, _place, _key, _kind, _hash, _line, _epoch, _dollars, _unpriced)
      ON CONFLICT DO NOTHING RETURNING 1
    )
    INSERT INTO runs AS known (id, repository, started_at, head, entries, last_at, last_kind,
        latest_at, active, ended_at, outcome, ended_seq, identity)
      SELECT _run, _repository, _at, _hash, 1, _at, _kind, _at, 0, _ended, _outcome, _ended_seq,
        _identity FROM put
      ON CONFLICT (id) DO UPDATE SET
        head = excluded.head,
        entries = _seq,
        last_at = CASE WHEN _people THEN known.last_at ELSE excluded.last_at END,
        last_kind = CASE WHEN _people THEN known.last_kind ELSE excluded.last_kind END,
        latest_at = excluded.latest_at,
        active = known.active
          + CASE WHEN _idle THEN 0 ELSE greatest(0, _at - known.latest_at) END,
        ended_at = coalesce(known.ended_at, excluded.ended_at),
        outcome = CASE WHEN known.outcome = '' THEN excluded.outcome ELSE known.outcome END,
        ended_seq = coalesce(known.ended_seq, excluded.ended_seq);
    IF NOT FOUND THEN
      RETURN QUERY SELECT true, false;
      RETURN;
    END IF;
    PERFORM pg_notify('punchlist_ledger', _run);
    RETURN QUERY SELECT true, true;
  END $$;

  CREATE FUNCTION punchlist_claim_run(wanted text, own text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  DECLARE
    hashed text := encode(sha256('run\\000'::bytea || convert_to(wanted, 'UTF8')), 'hex');
  BEGIN
    IF NOT (punchlist_may('queue') OR punchlist_may('serve') OR punchlist_may('drive')) THEN
      PERFORM punchlist_refuse('begin a run');
    END IF;
    DELETE FROM request_keys WHERE at < clock_timestamp() - interval '7 days';
    INSERT INTO request_keys (key, request, run) VALUES (hashed, own, wanted)
      ON CONFLICT DO NOTHING;
    RETURN EXISTS (SELECT FROM request_keys WHERE key = hashed AND request = own);
  END $$;

  CREATE FUNCTION punchlist_guard_fences() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
  DECLARE
    wanted bytea := CASE TG_OP WHEN 'DELETE' THEN OLD.name ELSE NEW.name END;
  BEGIN
    IF NOT punchlist_unbound() THEN
      IF NOT punchlist_acts_for(encode(wanted, 'escape')) OR TG_OP = 'DELETE' AND
        substring(wanted FROM 1 FOR 7) <> 'server '::bytea THEN
        PERFORM punchlist_refuse('take the lease ' || encode(wanted, 'escape'));
      ELSIF TG_OP = 'UPDATE' AND (NEW.name <> OLD.name
        OR NEW.epoch NOT IN (OLD.epoch, OLD.epoch + 1)
        OR NEW.epoch = OLD.epoch AND OLD.holder <> session_user
        OR NEW.epoch > OLD.epoch AND OLD.until >= clock_timestamp()) THEN
        PERFORM punchlist_refuse('change a lease that ' || OLD.holder || ' has');
      END IF;
    END IF;
    IF TG_OP = 'DELETE' THEN
      RETURN OLD;
    ELSIF TG_OP = 'INSERT' OR NEW.epoch <> OLD.epoch THEN
      NEW.holder := session_user;
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON fences
    FOR EACH ROW EXECUTE FUNCTION punchlist_guard_fences();

  CREATE FUNCTION punchlist_guard_jobs() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
  BEGIN
    IF punchlist_may('drive') THEN
      RETURN NEW;
    END IF;
    IF TG_OP = 'INSERT' AND (NEW.state <> 'queued' OR NEW.worker <> '' OR NOT EXISTS (
        SELECT FROM runs WHERE id = NEW.run AND owner = session_user))
      OR TG_OP = 'UPDATE' AND (NOT punchlist_acts_for(OLD.run)
        OR OLD.state IN ('running', 'ended')
        OR NEW.state NOT IN ('queued', 'superseded', 'stopped')) THEN
      PERFORM punchlist_refuse('change the job of run ' || NEW.run);
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON jobs
    FOR EACH ROW EXECUTE FUNCTION punchlist_guard_jobs();

  CREATE FUNCTION punchlist_guard_stops() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
  BEGIN
    IF NOT punchlist_acts_for(CASE TG_OP WHEN 'DELETE' THEN OLD.run ELSE NEW.run END) THEN
      PERFORM punchlist_refuse('stop runs of others');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  END $$;
  CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON stops
    FOR EACH ROW EXECUTE FUNCTION punchlist_guard_stops();

  CREATE FUNCTION punchlist_guard_consents() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
  BEGIN
    IF NOT punchlist_unbound() AND OLD.owner <> session_user THEN
      PERFORM punchlist_refuse('revoke what others allowed');
    END IF;
    RETURN OLD;
  END $$;
  CREATE TRIGGER guard BEFORE DELETE ON consents
    FOR EACH ROW EXECUTE FUNCTION punchlist_guard_consents();
"""
