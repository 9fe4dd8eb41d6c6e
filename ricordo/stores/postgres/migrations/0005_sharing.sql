-- Memory that one user lets another one read, and what the owner of the tables may see of all users.
--
-- A transaction reads its own user's rows alone, unless it asks for what is shared by `app.shared` = 'on', as a search
-- does: what counts, exports or corrects memory never meets a row of somebody else. Nobody writes what is shared.

-- Teams belong to the deployment. A member reads its own membership and may end it.
CREATE TABLE team_members (
    user_id text NOT NULL DEFAULT '*' CHECK (user_id = '*'),
    team text NOT NULL CHECK (team <> ''),
    member text NOT NULL CHECK (member NOT IN ('', '*')),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (member, team)
);
SELECT ricordo_protect('team_members');
CREATE POLICY member_reads ON team_members FOR SELECT USING (member = current_setting('app.user_id', true));
CREATE POLICY member_leaves ON team_members FOR DELETE USING (member = current_setting('app.user_id', true));

-- A share is its owner's; who received it reads it and may refuse it. A revoked one stays, as a record.
CREATE TABLE shares (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id text NOT NULL CHECK (user_id <> '*'),
    with_user text CHECK (with_user NOT IN ('', '*', user_id)),
    with_team text CHECK (with_team <> ''),
    kind text NOT NULL CHECK (kind IN ('user_memory', 'knowledge_base')),
    tag text CHECK (tag IS NULL OR kind = 'user_memory'),
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    CHECK (num_nonnulls(with_user, with_team) = 1)
);
CREATE UNIQUE INDEX ON shares (user_id, kind, (coalesce('u' || with_user, 't' || with_team)), (coalesce('t' || tag, '')))
    WHERE revoked_at IS NULL;
CREATE INDEX ON shares (with_user) WHERE with_user IS NOT NULL;
CREATE INDEX ON shares (with_team) WHERE with_team IS NOT NULL;
SELECT ricordo_protect('shares');
CREATE POLICY receiver_reads ON shares FOR SELECT USING (
    with_user = current_setting('app.user_id', true)
    OR with_team IN (SELECT team FROM team_members WHERE member = current_setting('app.user_id', true)));
CREATE POLICY receiver_refuses ON shares FOR DELETE USING (with_user = current_setting('app.user_id', true));

-- The shares that hold for this transaction's user.
CREATE FUNCTION ricordo_received() RETURNS SETOF shares LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT s.* FROM shares s
    WHERE s.revoked_at IS NULL AND current_setting('app.shared', true) = 'on'
        AND s.user_id <> current_setting('app.user_id', true)
        AND (s.with_user = current_setting('app.user_id', true) OR s.with_team IN
            (SELECT m.team FROM team_members m WHERE m.member = current_setting('app.user_id', true)))
$$;

-- Whose rows of a kind are looked at: one array, so that it is made once a statement and found by an index.
CREATE FUNCTION ricordo_owners(of_kind text) RETURNS text[] LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    owners text[] := ARRAY[current_setting('app.user_id', true)];
BEGIN
    IF of_kind = 'knowledge_base' THEN
        owners := owners || '*'::text;
    END IF;
    IF current_setting('app.shared', true) = 'on' THEN
        owners := owners || ARRAY(SELECT DISTINCT r.user_id FROM ricordo_received() r WHERE r.kind = of_kind ORDER BY 1);
    END IF;
    RETURN owners;
END $$;

-- For each user who shares memories with this one: true for all of them, or the tags of those that are.
CREATE FUNCTION ricordo_shared_tags() RETURNS jsonb LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    IF current_setting('app.shared', true) IS DISTINCT FROM 'on' THEN
        RETURN '{}';
    END IF;
    RETURN (SELECT coalesce(jsonb_object_agg(o.user_id, o.tags), '{}') FROM (
        SELECT r.user_id, CASE WHEN bool_or(r.tag IS NULL) THEN 'true'::jsonb ELSE jsonb_agg(r.tag) END AS tags
        FROM ricordo_received() r WHERE r.kind = 'user_memory' GROUP BY r.user_id) o);
END $$;

-- Puts one condition in the place of a table's policies for reading. A second policy beside `own` would be joined to it by
-- OR, which no index serves. Writing stays the owner's alone.
CREATE FUNCTION ricordo_read_by(t regclass, readable text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    mine text := 'user_id = current_setting(''app.user_id'', true)';
BEGIN
    EXECUTE format('DROP POLICY own ON %s', t);
    EXECUTE format('DROP POLICY IF EXISTS everyone_reads ON %s', t);
    EXECUTE format('CREATE POLICY readable ON %s FOR SELECT USING (%s)', t, readable);
    EXECUTE format('CREATE POLICY own_insert ON %s FOR INSERT WITH CHECK (%s)', t, mine);
    EXECUTE format('CREATE POLICY own_update ON %s FOR UPDATE USING (%s) WITH CHECK (%s)', t, mine, mine);
    EXECUTE format('CREATE POLICY own_delete ON %s FOR DELETE USING (%s)', t, mine);
END $$;

SELECT ricordo_read_by(t, $$user_id = ANY ((SELECT ricordo_owners('knowledge_base'))::text[])$$)
FROM unnest(ARRAY['documents', 'knowledge_base', 'knowledge_base_terms']::regclass[]) t;

-- What its user has forgotten, nobody else remembers.
SELECT ricordo_read_by('user_memory', $$
    user_id = ANY ((SELECT ricordo_owners('user_memory'))::text[]) AND (
        user_id = current_setting('app.user_id', true)
        OR deleted_at IS NULL AND ((SELECT ricordo_shared_tags()) -> user_id = 'true'
            OR (SELECT ricordo_shared_tags()) -> user_id ?| tags))$$);
-- The words of a memory are as private as the memory.
SELECT ricordo_read_by('user_memory_terms', $$
    user_id = ANY ((SELECT ricordo_owners('user_memory'))::text[]) AND (
        user_id = current_setting('app.user_id', true)
        OR EXISTS (SELECT FROM user_memory m
            WHERE m.user_id = user_memory_terms.user_id AND m.place = user_memory_terms.place))$$);

DROP FUNCTION ricordo_read_by;

-- Foreign keys are checked outside row-level security: by an id alone, a row could hang on a row of another user and be
-- deleted or changed with it.
ALTER TABLE documents ADD UNIQUE (user_id, id);
ALTER TABLE knowledge_base
    DROP CONSTRAINT knowledge_base_document_id_fkey,
    ADD FOREIGN KEY (user_id, document_id) REFERENCES documents (user_id, id) ON DELETE CASCADE;
ALTER TABLE summary
    ADD UNIQUE (user_id, id),
    DROP CONSTRAINT summary_parent_fkey,
    ADD FOREIGN KEY (user_id, parent) REFERENCES summary (user_id, id) ON DELETE SET NULL (parent);
ALTER TABLE messages ADD UNIQUE (user_id, id);
ALTER TABLE entity ADD UNIQUE (user_id, id);
ALTER TABLE entity_mentions
    DROP CONSTRAINT entity_mentions_entity_id_fkey,
    DROP CONSTRAINT entity_mentions_message_id_fkey,
    ADD FOREIGN KEY (user_id, entity_id) REFERENCES entity (user_id, id) ON DELETE CASCADE,
    ADD FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE;

-- Threads of deleted users, by the SHA-256 of their ids. A run that is still under way must not leave a checkpoint behind:
-- LangGraph's server runs in other processes and knows nothing of users. Whoever begins the thread anew, lifts the ban.
CREATE TABLE ended_threads (
    user_id text NOT NULL DEFAULT '*' CHECK (user_id = '*'),
    hash bytea PRIMARY KEY,
    ended_at timestamptz NOT NULL DEFAULT now()
);
SELECT ricordo_protect('ended_threads', shared => true);
CREATE POLICY anyone_lifts ON ended_threads FOR DELETE USING (user_id = '*');

CREATE FUNCTION ricordo_begin_thread() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM ended_threads WHERE hash = sha256(NEW.thread_id::text::bytea);
    RETURN NULL;
END $$;
CREATE TRIGGER begun AFTER INSERT ON threads FOR EACH ROW EXECUTE FUNCTION ricordo_begin_thread();

CREATE FUNCTION ricordo_refuse_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM ended_threads WHERE hash = sha256(convert_to(NEW.thread_id, 'UTF8'))) THEN
        RAISE EXCEPTION 'This thread was deleted with its user. Start another one.';
    END IF;
    RETURN NEW;
END $$;

-- Called again when LangGraph's tables are made, which comes after the migrations.
CREATE FUNCTION ricordo_guard_checkpoints() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t regclass;
BEGIN
    FOR t IN SELECT c FROM unnest(ARRAY[to_regclass('checkpoints'), to_regclass('checkpoint_blobs'),
        to_regclass('checkpoint_writes')]) c WHERE c IS NOT NULL
    LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER ended BEFORE INSERT ON %s FOR EACH ROW '
            'EXECUTE FUNCTION ricordo_refuse_ended()', t);
    END LOOP;
END $$;
SELECT ricordo_guard_checkpoints();

-- A change of embedding model under way: what the memories are being embedded by.
ALTER TABLE embedding_space
    ADD target text,
    ADD target_dims integer CHECK (target_dims > 0),
    ADD CHECK ((target IS NULL) = (target_dims IS NULL));

-- The owner of the tables lists users and looks for what is to be embedded anew. On the embedded server it is a superuser
-- and sees all rows anyway; an ordinary user of another server needs to be let. It changes rows as their user alone.
CREATE FUNCTION ricordo_let_owner_read(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE POLICY owner_reads ON %s FOR SELECT TO CURRENT_USER USING (true)', t);
END $$;
SELECT ricordo_let_owner_read(oid) FROM pg_class
WHERE relrowsecurity AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema());

-- As in the first migration, and the owner reads.
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
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO ricordo_app', t);
END $$;

GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ricordo_app;
