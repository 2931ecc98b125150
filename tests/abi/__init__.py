"""The proof that csrc/abi and pyharness/spec say what cuDNN's own headers say, each release."""
