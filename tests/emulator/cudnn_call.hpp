// The frame of every call: counted, faults that are due, refusals told.
#pragma once

#include "cudnn_refusal.hpp"

#include <optional>
#include <string>
#include <vector>

namespace emulator {

// What is planted in one call.
class Faults {
  public:
    explicit Faults(const char *function);

    // The status that the call is to answer at once.
    const std::optional<abi::Status> &status() const { return status_; }
    bool has(const std::string &kind) const;
    const std::vector<Due> &due() const { return due_; }

  private:
    std::vector<Due> due_;
    std::optional<abi::Status> status_;
};

// Runs a call's body, which throws Refusal to refuse.
template <class Body> abi::Status call(const char *function, Body body) {
    const Faults faults(function);
    if (faults.status()) return *faults.status();
    try {
        body(faults);
        return abi::kSuccess;
    } catch (const Refusal &refusal) {
        return tell(function, refusal);
    }
}

// Hands a call over to the real library.
template <class... Parameters, class... Arguments>
abi::Status forward_call(const char *function, abi::Status (*to)(Parameters...),
                         Arguments... arguments) {
    const Faults faults(function);
    if (faults.status()) return *faults.status();
    const abi::Status status = to(arguments...);
    if (status != abi::kSuccess) forget_last_error();
    return status;
}

} // namespace emulator
