"""The graph: wiring, state, and what its nodes share."""
