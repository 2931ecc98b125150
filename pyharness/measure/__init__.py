"""When to stop measuring, and what samples say: plain numbers in and out."""
