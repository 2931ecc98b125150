// What the setting `wrong` can name.
#pragma once

namespace emulator {

constexpr const char *kWrongs[] = {
    "order_process",     "order_alignment",      "order_batch",    "order_padding", "order_load",
    "order_stream",      "order_workspace",      "order_graph",    "order_handle",  "order_cublas",
    "order_run",         "stale_dropout",        "one_ulp",        "packed",        "padding_read",
    "padding_unwritten", "reverse_from_padding", "projection_off", "second_layer",  "inference",
    "batch_parts",       "carried_state",
};

} // namespace emulator
