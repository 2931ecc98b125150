#pragma once

#include "rnn/trace.hpp"

#include <pybind11/pybind11.h>

namespace pyharness {

// A trace over a writable buffer; keeps the buffer alive and mapped.
class BoundTrace {
  public:
    explicit BoundTrace(const pybind11::buffer &memory)
        : info_(memory.request(true)),
          trace_(info_.ptr, static_cast<std::size_t>(info_.size * info_.itemsize)) {}
    Trace &trace() { return trace_; }

  private:
    pybind11::buffer_info info_;
    Trace trace_;
};

} // namespace pyharness
