-- How long things are kept.
--
-- What retention takes from the tool log are the words: the entry stays, and says that they are gone.
ALTER TABLE tool_log ADD pruned_at timestamptz;
CREATE INDEX ON tool_log (user_id, started_at) WHERE pruned_at IS NULL;

-- Which upkeep was done when, so that of many processes one does it, once a day.
CREATE TABLE upkeep (
    user_id text NOT NULL DEFAULT '*' CHECK (user_id = '*'),
    task text PRIMARY KEY,
    done_at timestamptz NOT NULL DEFAULT now()
);
SELECT ricordo_protect('upkeep', shared => true);
