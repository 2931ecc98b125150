"""Numbers and tables as text: the one place where they are turned into words."""
