"""Models behind one interface each: chat models (`chat.py`), embeddings (`embeddings.py`), and counting tokens.

It uses the ground floor alone. Begin with `embeddings.py`.
"""
