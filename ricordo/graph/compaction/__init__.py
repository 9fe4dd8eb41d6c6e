"""How the window is made smaller: a ladder of means (`ladder.py`, where to begin), the cheapest for the reader first.

Each other module is one means. They read and write memory; nothing here decides when, which is `check_window`'s.
"""
