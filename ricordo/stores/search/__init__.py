"""Search by meaning and by words, over every table that has both; begin with `vectors.py`.

It stands on `postgres` and on the embedding models, and does not know what the memories mean.
"""
