"""The chat model that needs no server: it chooses tools by retrieval and answers by quotation; begin with `chat.py`.

A LangChain chat model like any other. It borrows memory's reading of statements, and reads the window that it is sent.
"""
