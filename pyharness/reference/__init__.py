"""What is right: the network in float64, its tensors' layouts and types, what rounding explains."""
