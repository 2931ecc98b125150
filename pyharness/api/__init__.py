"""What the commands and ``import pyharness`` do: where engine, store and analysis are joined."""
