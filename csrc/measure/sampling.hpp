// Raw samples of a pass: how long each execution took. No statistics.
#pragma once

#include "rnn/plan.hpp"

namespace pyharness {

enum class Sampling {
    kHot,     // back to back
    kCold,    // each after the L2 cache was flushed
    kGraph,   // replays of a captured graph
    kEnqueue, // the host's time to enqueue it, on an empty queue
};

// Throws std::invalid_argument if no way of sampling is called so.
Sampling sampling_named(const std::string &name);

// So many samples in seconds, after one that is not counted. What a backward pass needs before it
// runs outside its sample. Throws CudnnError, CudaError, and std::logic_error for kGraph without a
// capture.
//
// Nothing holds the stream back while the loop enqueues: an RNN call may be thousands of kernels,
// and a launch queue that is full behind a wait never empties.
std::vector<double> sample(Plan &plan, Pass pass, Sampling how, std::size_t count);

} // namespace pyharness
