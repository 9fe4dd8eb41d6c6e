"""One question to a chat model, in the way that its server takes it: `conversing.py`, where to begin, over `asking.py`.

It uses models, prompts and the shape of the exchange; what the question is made of is not its business.
"""
