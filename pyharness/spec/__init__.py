"""The words of cuDNN's RNN API: enumerations, axes, calls, problems and columns. Pure."""
