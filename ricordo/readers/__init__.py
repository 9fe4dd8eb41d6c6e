"""Documents from outside: bytes of a file or a server to pages of text, and pages to chunks; begin with `kinds.py`.

It uses the ground floor alone, and stores nothing.
"""
