"""Memory on PostgreSQL: one small module for each store."""
