-- The catalogue of tools: what was made of each for the search, so that an unchanged tool costs nothing at start-up.
--
-- The search itself runs in the process (`stores/tool_index.py`): a few thousand tools fit in memory, and the choice is
-- made before every model call. `content_hash` tells whether a row still stands for the tool; `terms` and `weights` are
-- its words, `embedding` its vector (kept in `embedding_cache` under `embedding_key` when the tool goes), `augmented` what a model wrote about it from the source that `augmented_hash` names.
-- What an administrator set aside (`enabled`) outlives every change of the tool.

CREATE TABLE toolbox (
    user_id text NOT NULL DEFAULT '*' CHECK (user_id = '*'),
    name text PRIMARY KEY,
    group_name text NOT NULL,
    tags text[] NOT NULL DEFAULT '{}',
    description text NOT NULL,
    content_hash bytea NOT NULL,
    terms text NOT NULL,
    weights bytea NOT NULL,
    embedding halfvec NOT NULL,
    embedding_key bytea NOT NULL,
    embedding_model text NOT NULL,
    augmented text,
    augmented_hash bytea,
    enabled boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
SELECT ricordo_protect('toolbox', shared => true);
