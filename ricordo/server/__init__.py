"""What stands beside the LangGraph server: its lifespan (`app.py`, where to begin), its door, an example of `auth`.

It uses `graph` and memory; no node and no tool.
"""
