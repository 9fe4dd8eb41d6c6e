-- What users ask to be remembered: each statement with the time in which it held, where it comes from, and what was done
-- to it.
--
-- Of a memory:
--   valid_from, valid_to   when the statement held, as far as we were told; open at the end while it holds
--   superseded_by          the memory that took its place; a forgotten one is `deleted_at` until it is purged
--   same                   SHA-256 of the statement without case, space and final stop: it holds once at a time
--   slot                   what it gives the one value of, such as `user home`; there is one answer to that at a time
--   said_on                the day on which it was said, in the user's time zone; its words are indexed with the content

ALTER TABLE user_memory
    ADD same bytea,
    ADD slot text,
    ADD said_on date,
    ADD UNIQUE (user_id, id),
    ADD CHECK (valid_to >= valid_from),
    DROP CONSTRAINT user_memory_superseded_by_fkey,
    -- Foreign keys are checked outside row-level security: by the id alone one could point at the memory of another user.
    ADD FOREIGN KEY (user_id, superseded_by) REFERENCES user_memory (user_id, id) ON DELETE SET NULL (superseded_by)
        DEFERRABLE INITIALLY DEFERRED; -- an old statement ends before the new one begins
CREATE UNIQUE INDEX ON user_memory (user_id, same) WHERE valid_to IS NULL AND deleted_at IS NULL;
CREATE INDEX ON user_memory (user_id, slot) WHERE valid_to IS NULL AND deleted_at IS NULL AND slot IS NOT NULL;
CREATE INDEX ON user_memory (user_id, valid_from)
    WHERE valid_to IS NULL AND deleted_at IS NULL AND (importance = 'high' OR slot = 'user name');

-- Every time that a memory was said: by whom, where, in which words.
CREATE TABLE user_memory_sources (
    id uuid PRIMARY KEY,
    user_id text NOT NULL,
    memory_id uuid NOT NULL,
    origin text NOT NULL CHECK (origin IN ('user', 'agent', 'tool', 'import')),
    thread_id uuid,
    message_id uuid,
    wording text NOT NULL,
    said_at timestamptz NOT NULL,
    FOREIGN KEY (user_id, memory_id) REFERENCES user_memory (user_id, id) ON DELETE CASCADE
);
CREATE INDEX ON user_memory_sources (user_id, memory_id, said_at);
SELECT ricordo_protect('user_memory_sources');

-- Who did what to which memory, when and why. It outlives the memory, without its words.
CREATE TABLE user_memory_audit (
    id uuid PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    user_id text NOT NULL,
    at timestamptz NOT NULL,
    actor text NOT NULL CHECK (actor IN ('user', 'agent', 'system')),
    action text NOT NULL CHECK (action IN
        ('remember', 'repeat', 'merge', 'supersede', 'update', 'refuse', 'forget', 'undo', 'purge', 'export', 'import')),
    memory_id uuid,
    thread_id uuid,
    reason text NOT NULL DEFAULT '',
    detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX ON user_memory_audit (user_id, at);
CREATE INDEX ON user_memory_audit (user_id, memory_id);
SELECT ricordo_protect('user_memory_audit');

GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ricordo_app;
