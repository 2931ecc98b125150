"""Tables in, tables out: what differs, where the boundaries are, and the words for it."""
