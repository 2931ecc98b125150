"""The equivalences that are checked: results that must come out alike in two ways."""

from __future__ import annotations

HOLDS, VIOLATED, NOT_TOLD = "holds", "violated", "not_told"
VERDICTS = (HOLDS, VIOLATED, NOT_TOLD)
# In the order in which they are tried.
CHECKS = {
    "packed_is_padded": "a packed batch gives each sequence what padded ones give it",
    "padding_filled": "the padding of y holds padding_fill",
    "padding_ignored": "other numbers in the padding of x and dy change nothing",
    "reverse_starts_at_end": "the reverse direction starts at each sequence's own end",
    "projection_off": "no projection is one with an identity matrix as wide as hidden_size",
    "layers_in_turn": "layers at once are the same layers one after the other",
    "inference_is_training": "inference gives what forward training gives",
    "batch_is_parts": "a batch is its parts, and dw their sum",
    "chunks_are_whole": "sequences cut into chunks with the states carried on are the whole ones",
}
