// cuDNN's own words for a refusal, taken from its callback in process.
#pragma once

#include "shim/library.hpp"

#include <string>

namespace pyharness {

// While it lives, the library's callback is ours. One at a time in a process: the callback is
// global. After it has gone the library must not be walked for speed: releases from 9.0 on then
// write every refusal to stderr. A worker therefore takes reasons or walks, never both.
class ReasonCapture {
  public:
    explicit ReasonCapture(const Api &api);

    // Forgets what this thread has heard; call before the call that is to be explained.
    void clear();

    // What the library said to this thread since clear(): the condition after "Reason: ", verbatim;
    // where the callback was silent, cudnnGetLastErrorString of 9.x; empty when there is no word.
    std::string take();

  private:
    const Api &api_;
};

} // namespace pyharness
