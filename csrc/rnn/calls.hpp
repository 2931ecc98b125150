// Every call of cuDNN on the device path goes through here: it is traced, and its status is kept.
#pragma once

#include "rnn/trace.hpp"
#include "walk/reasons.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace pyharness {

struct CallRecord {
    std::string call; // the C name
    abi::Status status;
    std::string reason; // cuDNN's words; empty without one
};

// A call that was refused where there is no list to keep it in.
class CudnnError : public std::runtime_error {
  public:
    explicit CudnnError(CallRecord refused_)
        : std::runtime_error(refused_.call + ": status " + std::to_string(refused_.status) +
                             (refused_.reason.empty() ? "" : ": " + refused_.reason)),
          refused(std::move(refused_)) {}

    const CallRecord refused;
};

class Calls {
  public:
    Calls(const Api &api, Trace &trace) : api_(api), trace_(trace), reasons_(api) {}

    const Api &api() const { return api_; }
    Trace &trace() { return trace_; }

    // Starts a new list of records.
    void begin(const char *stage) {
        trace_.stage(stage);
        records_.clear();
        reasons_.clear();
    }
    const std::vector<CallRecord> &records() const { return records_; }
    void add(CallRecord record) { records_.push_back(std::move(record)); }

    // A function that keeps what the library's own answers, and says whether it is SUCCESS: a stage
    // stops at the first that is not. Throws LoadError if the library has no such function.
    template <class... Parameters>
    auto kept(const char *name, abi::Status (*function)(Parameters...)) {
        if (function == nullptr) throw LoadError(std::string("the library has no ") + name);
        return [this, name, function](Parameters... arguments) {
            trace_.call(name);
            reasons_.clear();
            const abi::Status status = function(arguments...);
            records_.push_back(
                {name, status, status == abi::kSuccess ? std::string() : reasons_.take()});
            return status == abi::kSuccess;
        };
    }

    // The same for timed loops: nothing but a few stores beside the call. Throws CudnnError if it
    // is refused.
    template <class... Parameters>
    auto timed(const char *name, abi::Status (*function)(Parameters...)) {
        return [this, name, function](Parameters... arguments) {
            trace_.call(name);
            const abi::Status status = function(arguments...);
            if (status != abi::kSuccess) throw CudnnError({name, status, reasons_.take()});
            return true;
        };
    }

    // Throws CudnnError if the last call was refused.
    void demand() const {
        if (!records_.empty() && records_.back().status != abi::kSuccess)
            throw CudnnError(records_.back());
    }

  private:
    const Api &api_;
    Trace &trace_;
    ReasonCapture reasons_;
    std::vector<CallRecord> records_;
};

// A function of cuDNN by its name: PYHARNESS_CUDNN(calls, cudnnSetStream)(handle, stream).
#define PYHARNESS_CUDNN(calls, name) (calls).kept(#name, (calls).api().name)

} // namespace pyharness
