"""Spaces: sets of problems, as Cartesian grids of axis values."""
