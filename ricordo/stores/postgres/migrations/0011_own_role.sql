-- The application's role is of this database alone. Roles belong to the whole server: one that worked in two databases let
-- whoever had taken it on in one read all of the other. Its name goes by the database's number, which no copy shares.

CREATE FUNCTION ricordo_role() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT fingerprint FROM ricordo_migrations WHERE name = 'application role'
$$;

-- Gives the application's rights to a role, and takes them from whoever had them: the one role of all databases, or that
-- of the database of which this is a copy. Whoever was let in as everybody is, has to be let in by name from then on.
CREATE FUNCTION ricordo_give_rights(role text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t record;
    place name;
BEGIN
    FOR t IN SELECT DISTINCT c.oid::regclass AS name, c.relkind = 'S' AS counts, r.rolname AS holder
        FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.relnamespace = current_schema()::regnamespace AND r.rolname ~ '^ricordo_app(_\d+)?$' AND r.rolname <> role
    LOOP
        EXECUTE format('REVOKE ALL ON %s %s FROM %I', CASE WHEN t.counts THEN 'SEQUENCE' ELSE 'TABLE' END, t.name, t.holder);
    END LOOP;
    FOREACH place IN ARRAY current_schemas(false) LOOP
        IF NOT has_schema_privilege(role, place, 'USAGE') THEN
            EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', place, role);
        END IF;
    END LOOP;
    FOR t IN SELECT c.oid::regclass AS name FROM pg_class c
        WHERE c.relkind = 'r' AND c.relrowsecurity AND c.relnamespace = current_schema()::regnamespace
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', t.name, role);
    END LOOP;
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO %I', current_schema(), role);
    IF (SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database()) THEN
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), current_user);
        EXECUTE format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', current_database());
    END IF;
END $$;

-- As before, for this database's role.
CREATE OR REPLACE FUNCTION ricordo_protect(t regclass, shared boolean DEFAULT false) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', t);
    EXECUTE format(
        'CREATE POLICY own ON %s USING (user_id = current_setting(''app.user_id'', true)) '
        'WITH CHECK (user_id = current_setting(''app.user_id'', true))', t);
    IF shared THEN
        EXECUTE format('CREATE POLICY everyone_reads ON %s FOR SELECT USING (user_id = ''*'')', t);
    END IF;
    PERFORM ricordo_let_owner_read(t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', t, ricordo_role());
END $$;
