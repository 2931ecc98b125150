"""Stand-ins for what a test cannot command: a cuDNN whose answers are known."""
