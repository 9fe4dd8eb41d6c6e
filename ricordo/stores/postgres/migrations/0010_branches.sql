-- LangGraph's clients edit a message, run again from an earlier checkpoint, and go back: memory follows the branch of the
-- thread that they are on. What lies on another branch is put aside, and comes back with it.
ALTER TABLE messages
    ADD said_as text,
    ADD aside boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN messages.said_as IS 'Id of the message in the state of the thread.';
CREATE INDEX ON messages (user_id, thread_id, said_as) WHERE said_as IS NOT NULL;
