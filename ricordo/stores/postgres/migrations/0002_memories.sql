-- The memories that are found by what they say: a table of units each, and beside it an index of their words.
--
-- A unit:
--   place            where it stands among the user's units: neighbours in a thread or a document have neighbouring
--                    places, all others are far apart
--   indexed          what was embedded and split into words, where that is not `content`; `hash` is its SHA-256
--   embedding        without a width of its own: `embedding_model` says whose it is. The index for a model is made when
--                    the model is first used, so that two can live side by side while memory is embedded anew
--   words, counts    its terms (`stores/lexical.py`) and how often each occurs; `length` is their sum

CREATE TABLE embedding_space (
    user_id text PRIMARY KEY DEFAULT '*' CHECK (user_id = '*'), -- one row
    model text NOT NULL,
    dims integer NOT NULL CHECK (dims > 0),
    created_at timestamptz NOT NULL DEFAULT now()
);
SELECT ricordo_protect('embedding_space', shared => true);

-- Vectors of texts that are not stored yet: an ingestion that was cut off goes on where it stopped.
CREATE TABLE embedding_cache (
    user_id text NOT NULL,
    model text NOT NULL,
    hash bytea NOT NULL,
    embedding halfvec NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, hash, model)
);
SELECT ricordo_protect('embedding_cache');

-- Keep `<table>_terms` true to the units' words, whoever writes: code, plain SQL or a cascade.
CREATE FUNCTION ricordo_index_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        EXECUTE format(
            'INSERT INTO %I (user_id, term, place, tf, length) SELECT n.user_id, w.term, n.place, w.tf, n.length '
            'FROM new_units n CROSS JOIN LATERAL unnest(n.words, n.counts) AS w(term, tf)', TG_TABLE_NAME || '_terms');
    ELSIF TG_OP = 'DELETE' THEN
        EXECUTE format(
            'DELETE FROM %I t USING (SELECT user_id, place, unnest(words) AS term FROM old_units) o '
            'WHERE t.user_id = o.user_id AND t.term = o.term AND t.place = o.place', TG_TABLE_NAME || '_terms');
    ELSE
        EXECUTE format(
            'DELETE FROM %1$I t USING (SELECT o.user_id, o.place, unnest(o.words) AS term FROM old_units o '
            'JOIN new_units n USING (id) WHERE (o.words, o.counts, o.place) IS DISTINCT FROM (n.words, n.counts, n.place)) o '
            'WHERE t.user_id = o.user_id AND t.term = o.term AND t.place = o.place', TG_TABLE_NAME || '_terms');
        EXECUTE format(
            'INSERT INTO %I (user_id, term, place, tf, length) SELECT n.user_id, w.term, n.place, w.tf, n.length '
            'FROM new_units n JOIN old_units o USING (id) CROSS JOIN LATERAL unnest(n.words, n.counts) AS w(term, tf) '
            'WHERE (o.words, o.counts, o.place) IS DISTINCT FROM (n.words, n.counts, n.place)',
            TG_TABLE_NAME || '_terms');
    END IF;
    RETURN NULL;
END $$;

-- Give a table the columns, the words' index and the protection that `stores/vectors.py` works on.
-- BM25 needs to know how rare a word is among the units of one user, which neither `ts_rank` nor a GIN index can tell
-- (and under row-level security no GIN index is used). The index below carries all that a search needs.
CREATE FUNCTION ricordo_make_searchable(t regclass, shared boolean DEFAULT false) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'ALTER TABLE %s '
        'ADD seq bigint GENERATED ALWAYS AS IDENTITY, '
        'ADD user_id text NOT NULL, '
        'ADD place bigint NOT NULL, '
        'ADD content text NOT NULL, '
        'ADD indexed text, '
        'ADD hash bytea NOT NULL, '
        'ADD embedding halfvec, '
        'ADD embedding_model text, '
        'ADD words text[] NOT NULL, '
        'ADD counts integer[] NOT NULL, '
        'ADD length integer NOT NULL, '
        'ADD created_at timestamptz NOT NULL DEFAULT now(), '
        'ADD CHECK ((embedding IS NULL) = (embedding_model IS NULL))', t);
    EXECUTE format('CREATE UNIQUE INDEX ON %s (user_id, place) INCLUDE (length)', t);
    EXECUTE format('CREATE INDEX ON %s (user_id, hash)', t);
    EXECUTE format(
        'CREATE TABLE %I (user_id text NOT NULL, term text NOT NULL, place bigint NOT NULL, tf integer NOT NULL, '
        'length integer NOT NULL)', t || '_terms');
    EXECUTE format('CREATE INDEX ON %I (user_id, term, place) INCLUDE (tf, length)', t || '_terms');
    EXECUTE format('CREATE TRIGGER words_of_new AFTER INSERT ON %s REFERENCING NEW TABLE AS new_units '
        'FOR EACH STATEMENT EXECUTE FUNCTION ricordo_index_words()', t);
    EXECUTE format('CREATE TRIGGER words_of_changed AFTER UPDATE ON %s '
        'REFERENCING OLD TABLE AS old_units NEW TABLE AS new_units '
        'FOR EACH STATEMENT EXECUTE FUNCTION ricordo_index_words()', t);
    EXECUTE format('CREATE TRIGGER words_of_gone AFTER DELETE ON %s REFERENCING OLD TABLE AS old_units '
        'FOR EACH STATEMENT EXECUTE FUNCTION ricordo_index_words()', t);
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
SELECT ricordo_make_searchable('knowledge_base', shared => true);
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
    thread_id uuid NOT NULL,
    description text NOT NULL,
    structured jsonb NOT NULL DEFAULT '{}',
    covers uuid[] NOT NULL DEFAULT '{}',
    level integer NOT NULL DEFAULT 0 CHECK (level >= 0),
    parent uuid REFERENCES summary ON DELETE SET NULL,
    first_seq bigint NOT NULL DEFAULT 0
);
SELECT ricordo_make_searchable('summary');
ALTER TABLE summary ADD FOREIGN KEY (user_id, thread_id) REFERENCES threads (user_id, thread_id) ON DELETE CASCADE;
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
