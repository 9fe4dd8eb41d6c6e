"""Tools as procedural memory: registered, catalogued, found by what a step needs; begin with `box.py`.

It stands on `search` and `postgres`, and runs no graph.
"""
