-- The memories that are found by what they say: a table of units each, and beside it the words of every unit.
--
-- `embedding` has no width of its own: `embedding_space` says which model fills it, and the index for that model is
-- made when the model is first used, so that another one can live beside it while memory is embedded anew.
-- `indexed` is what was embedded and split into words, where that is not `content`; `length` counts those words.
-- `<table>_terms` holds them: BM25 needs to know how rare a word is among the units of one user, which neither
-- `ts_rank` nor a GIN index can tell. An index that carries all its columns answers without a look at the table.

CREATE TABLE embedding_space (
    user_id text PRIMARY KEY DEFAULT '*' CHECK (user_id = '*'), -- one row
    model text NOT NULL,
    dims integer NOT NULL CHECK (dims > 0),
    created_at timestamptz NOT NULL DEFAULT now()
);
SELECT ricordo_protect('embedding_space', shared => true);

-- What was embedded once is not embedded again: an ingestion that was cut off goes on where it stopped.
CREATE TABLE embedding_cache (
    user_id text NOT NULL,
    model text NOT NULL,
    hash bytea NOT NULL,
    embedding halfvec NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, model, hash)
);
SELECT ricordo_protect('embedding_cache');

-- Gives a table the columns and the side table that `stores/vectors.py` works on.
CREATE FUNCTION ricordo_make_searchable(t regclass, shared boolean DEFAULT false) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'ALTER TABLE %s '
        'ADD seq bigint GENERATED ALWAYS AS IDENTITY, '
        'ADD user_id text NOT NULL, '
        'ADD content text NOT NULL, '
        'ADD indexed text, '
        'ADD hash bytea NOT NULL, '
        'ADD embedding halfvec, '
        'ADD embedding_model text, '
        'ADD length integer NOT NULL, '
        'ADD created_at timestamptz NOT NULL DEFAULT now(), '
        'ADD CHECK ((embedding IS NULL) = (embedding_model IS NULL))', t);
    EXECUTE format('CREATE INDEX ON %s (user_id, seq) INCLUDE (length)', t);
    EXECUTE format(
        'CREATE TABLE %I (user_id text NOT NULL, term text NOT NULL, '
        'unit_id uuid NOT NULL REFERENCES %s ON DELETE CASCADE, tf integer NOT NULL, length integer NOT NULL)',
        t || '_terms', t);
    EXECUTE format('CREATE INDEX ON %I (user_id, term) INCLUDE (unit_id, tf, length)', t || '_terms');
    EXECUTE format('CREATE INDEX ON %I (unit_id)', t || '_terms');
    PERFORM ricordo_protect(t, shared);
    PERFORM ricordo_protect((t || '_terms')::regclass, shared);
END $$;

CREATE TABLE knowledge_base (
    id uuid PRIMARY KEY,
    document_id uuid NOT NULL REFERENCES documents ON DELETE CASCADE,
    chunk integer NOT NULL,
    page integer,
    source text NOT NULL,
    title text NOT NULL DEFAULT '',
    url text,
    published timestamptz,
    metadata jsonb NOT NULL DEFAULT '{}'
);
SELECT ricordo_make_searchable('knowledge_base');
CREATE INDEX ON knowledge_base (document_id, chunk);

CREATE TABLE workflow (
    id uuid PRIMARY KEY,
    thread_id uuid,
    run_id text NOT NULL,
    request text NOT NULL,
    steps jsonb NOT NULL DEFAULT '[]',
    outcome text NOT NULL
);
SELECT ricordo_make_searchable('workflow');
CREATE INDEX ON workflow (user_id, thread_id);

CREATE TABLE entity (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    type text NOT NULL,
    aliases text[] NOT NULL DEFAULT '{}',
    description text NOT NULL DEFAULT '',
    updated_at timestamptz NOT NULL DEFAULT now()
);
SELECT ricordo_make_searchable('entity');
CREATE INDEX ON entity (user_id, lower(name));

CREATE TABLE entity_mentions (
    user_id text NOT NULL,
    entity_id uuid NOT NULL REFERENCES entity ON DELETE CASCADE,
    message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE,
    mention text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (entity_id, message_id, mention)
);
CREATE INDEX ON entity_mentions (message_id);
CREATE INDEX ON entity_mentions (user_id);
SELECT ricordo_protect('entity_mentions');

CREATE TABLE summary (
    id uuid PRIMARY KEY,
    thread_id uuid NOT NULL REFERENCES threads ON DELETE CASCADE,
    description text NOT NULL,
    structured jsonb NOT NULL DEFAULT '{}',
    covers uuid[] NOT NULL DEFAULT '{}',
    level integer NOT NULL DEFAULT 0 CHECK (level >= 0),
    parent uuid REFERENCES summary ON DELETE SET NULL,
    first_seq bigint NOT NULL DEFAULT 0
);
SELECT ricordo_make_searchable('summary');
CREATE INDEX ON summary (user_id, thread_id, seq);
CREATE INDEX ON summary (parent) WHERE parent IS NOT NULL;

CREATE TABLE user_memory (
    id uuid PRIMARY KEY,
    type text NOT NULL CHECK (type IN ('fact', 'preference', 'event', 'task')),
    importance text NOT NULL DEFAULT 'medium' CHECK (importance IN ('low', 'medium', 'high')),
    tags text[] NOT NULL DEFAULT '{}',
    origin text NOT NULL CHECK (origin IN ('user', 'agent', 'tool', 'import')),
    thread_id uuid,
    message_id uuid,
    valid_from timestamptz NOT NULL DEFAULT now(),
    valid_to timestamptz,
    superseded_by uuid REFERENCES user_memory ON DELETE SET NULL,
    deleted_at timestamptz,
    delete_reason text,
    updated_at timestamptz NOT NULL DEFAULT now()
);
SELECT ricordo_make_searchable('user_memory');
CREATE INDEX ON user_memory (user_id, thread_id, seq);
CREATE INDEX ON user_memory (user_id, created_at);
CREATE INDEX ON user_memory (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX ON user_memory (deleted_at) WHERE deleted_at IS NOT NULL;

GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ricordo_app;
