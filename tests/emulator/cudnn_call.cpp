#include "cudnn_call.hpp"

#include "abi/driver.hpp"

#include <algorithm>
#include <cstdlib>

extern "C" pyharness::abi::cuMemAlloc_v2 cuMemAlloc_v2;

namespace emulator {

Faults::Faults(const char *function) : due_(enter(function)) {
    for (const Due &due : due_) {
        if (due.kind == "leak") {
            abi::CuPointer lost;
            cuMemAlloc_v2(&lost, 4096);
            continue;
        }
        std::string name = due.kind == "oom" ? "ALLOC_FAILED" : due.argument;
        if (due.kind != "status" && due.kind != "oom") continue;
        char *end;
        const long number = std::strtol(name.c_str(), &end, 10);
        const bool numeric = end != name.c_str() && *end == '\0';
        if (numeric) {
            status_ = static_cast<abi::Status>(number);
            continue;
        }
        status_ = tell(function, {name, "planted fault"});
    }
}

bool Faults::has(const std::string &kind) const {
    return std::any_of(due_.begin(), due_.end(), [&](const Due &due) { return due.kind == kind; });
}

} // namespace emulator
