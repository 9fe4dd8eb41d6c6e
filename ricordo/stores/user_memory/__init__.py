"""What is known about a user: what holds, what held, and whose word it was; begin with `store.py`.

`claims`, `truth` and `firewall` decide without a model. It stands on `search` and `postgres`.
"""
