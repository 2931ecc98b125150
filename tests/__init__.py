"""The tests: a package, so that they can share the doubles by relative import."""
