"""The database itself: the server that Ricordo brings, connections, transactions of one user, and the schema.

Begin with `database.py`. It knows no memory: what is stored is the business of the other wings.
"""
