"""A thread as callers have it: what they send (`incoming.py`, where to begin), the branch they are on, its checkpoints.

It uses memory and the state; no node and no model.
"""
