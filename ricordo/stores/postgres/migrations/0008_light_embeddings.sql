-- A second view of each tool, by the light model that runs in every process (`light_embedder`): it costs 2 ms a request,
-- and it errs elsewhere than the deployment's model. Rows from before are completed at the next start.

ALTER TABLE toolbox ADD COLUMN light halfvec, ADD COLUMN light_model text;
