"""The loops: workers, isolation, what is done with what they find. Never prints."""
