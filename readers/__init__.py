"""Documents from outside: bytes of a file or a server to pages of text."""
