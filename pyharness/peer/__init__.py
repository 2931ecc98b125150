"""Peers: the same problems through a framework, in a process of its own that alone imports it."""
