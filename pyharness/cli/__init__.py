"""The command line: one command a file. Each is thin, and imports what it needs when it runs."""
