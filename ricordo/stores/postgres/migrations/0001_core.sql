-- The parts of memory that are plain SQL, and the rules that hold for every table.
-- Every row has a user_id; '*' marks what belongs to the deployment (the toolbox, documents for everyone): all read it,
-- and only a transaction of '*' writes it.

-- Protects a table: row-level security for everybody, its owner included, and the application's rights.
CREATE FUNCTION ricordo_protect(t regclass, shared boolean DEFAULT false) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', t);
    EXECUTE format(
        'CREATE POLICY own ON %s USING (user_id = current_setting(''app.user_id'', true)) '
        'WITH CHECK (user_id = current_setting(''app.user_id'', true))', t);
    IF shared THEN
        EXECUTE format('CREATE POLICY everyone_reads ON %s FOR SELECT USING (user_id = ''*'')', t);
    END IF;
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO ricordo_app', t);
END $$;

-- A thread belongs to the first user who speaks in it. What refers to a thread names its user too: foreign keys are
-- checked outside row-level security, so by the thread alone one user could write into the thread of another.
CREATE TABLE threads (
    thread_id uuid PRIMARY KEY,
    user_id text NOT NULL,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, thread_id)
);
CREATE INDEX ON threads (user_id, updated_at DESC);

CREATE TABLE messages (
    id uuid PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    user_id text NOT NULL,
    thread_id uuid NOT NULL,
    run_id text NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant')),
    content text NOT NULL,
    tokens integer NOT NULL,
    summary_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (user_id, thread_id) REFERENCES threads (user_id, thread_id) ON DELETE CASCADE
);
CREATE INDEX ON messages (user_id, thread_id, seq);
CREATE INDEX ON messages (summary_id) WHERE summary_id IS NOT NULL;

CREATE TABLE tool_log (
    id uuid PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    user_id text NOT NULL,
    thread_id uuid NOT NULL,
    run_id text NOT NULL,
    step integer NOT NULL,
    call_id text NOT NULL,
    tool text NOT NULL,
    args jsonb NOT NULL,
    said text NOT NULL DEFAULT '',
    status text NOT NULL CHECK (status IN ('running', 'success', 'error', 'interrupted')),
    output text NOT NULL DEFAULT '',
    tokens integer NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    FOREIGN KEY (user_id, thread_id) REFERENCES threads (user_id, thread_id) ON DELETE CASCADE
);
CREATE INDEX ON tool_log (user_id, thread_id, seq);

CREATE TABLE documents (
    id uuid PRIMARY KEY,
    user_id text NOT NULL,
    source text NOT NULL,
    title text NOT NULL,
    kind text NOT NULL,
    content_hash bytea NOT NULL,
    chunks integer NOT NULL,
    pages integer,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now()
);
-- Hashed: the address of a page may be longer than an index entry.
CREATE UNIQUE INDEX ON documents (user_id, md5(source));

SELECT ricordo_protect(t) FROM unnest(ARRAY['threads', 'messages', 'tool_log']::regclass[]) t;
SELECT ricordo_protect('documents', shared => true);
