"""The schema's history: `NNNN_*.sql`, append-only, run in order by `ricordo/stores/postgres/migrate.py`."""
