// How a call answers: statuses by name in the real release's numbering, and cuDNN's two ways to
// say why.
#pragma once

#include "cudnn_exports.hpp"
#include "device.hpp"

#include <string>

namespace emulator {

// The number that the real release has for a status; a name of 9.x becomes that of 8.x. Ends the
// process if there is none.
abi::Status status_number(const std::string &name);

// Thrown in a call that is to be refused. `broken_rule`: the caller did what must never be done,
// which is reported beside the answer.
struct Refusal {
    std::string status;
    std::string reason;
    bool broken_rule = false;
};

inline void refuse_if(bool condition, const char *status, const std::string &reason) {
    if (condition) throw Refusal{status, reason};
}
inline void forbid_if(bool condition, const std::string &what) {
    if (condition) throw Refusal{"BAD_PARAM", what, true};
}

// Gives a refusal to the callback and keeps it as the last error; returns its number.
abi::Status tell(const char *function, const Refusal &refusal);

// Forgets the last error, because a later one is the real library's.
void forget_last_error();

} // namespace emulator
