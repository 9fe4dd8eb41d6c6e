-- The names of entities: each name and alias of a user's belongs to one entity. `key` is the name without case, accents
-- and superfluous space (`stores/entity.py`).

CREATE TABLE entity_names (
    user_id text NOT NULL,
    key text NOT NULL,
    name text NOT NULL,
    entity_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, key),
    FOREIGN KEY (user_id, entity_id) REFERENCES entity (user_id, id) ON DELETE CASCADE
);
CREATE INDEX ON entity_names (user_id, entity_id);
SELECT ricordo_protect('entity_names');
