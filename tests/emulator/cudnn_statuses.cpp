// The statuses' numbers, which changed in 9.0.
#include "cudnn_real.hpp"
#include "cudnn_refusal.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>

namespace emulator {

namespace {

using Numbers = std::map<std::string, abi::Status>;

const Numbers &numbers_8() {
    static const Numbers numbers = {
        {"SUCCESS", 0},
        {"NOT_INITIALIZED", 1},
        {"ALLOC_FAILED", 2},
        {"BAD_PARAM", 3},
        {"INTERNAL_ERROR", 4},
        {"INVALID_VALUE", 5},
        {"ARCH_MISMATCH", 6},
        {"MAPPING_ERROR", 7},
        {"EXECUTION_FAILED", 8},
        {"NOT_SUPPORTED", 9},
        {"LICENSE_ERROR", 10},
        {"RUNTIME_PREREQUISITE_MISSING", 11},
        {"RUNTIME_IN_PROGRESS", 12},
        {"RUNTIME_FP_OVERFLOW", 13},
        {"VERSION_MISMATCH", 14},
        {"NOT_SUPPORTED_ARCH_MISMATCH", 6},
    };
    return numbers;
}

const Numbers &numbers_9() {
    static const Numbers numbers = [] {
        Numbers made = {{"SUCCESS", 0}};
        const auto run = [&made](int number, std::initializer_list<const char *> names) {
            for (const char *name : names)
                made[name] = number++;
        };
        run(1001, {"NOT_INITIALIZED", "SUBLIBRARY_VERSION_MISMATCH",
                   "SERIALIZATION_VERSION_MISMATCH", "DEPRECATED", "LICENSE_ERROR",
                   "RUNTIME_IN_PROGRESS", "RUNTIME_FP_OVERFLOW", "SUBLIBRARY_LOADING_FAILED"});
        run(2000,
            {"BAD_PARAM", "INVALID_VALUE", "BAD_PARAM_NULL_POINTER", "BAD_PARAM_MISALIGNED_POINTER",
             "BAD_PARAM_NOT_FINALIZED", "BAD_PARAM_OUT_OF_BOUND", "BAD_PARAM_SIZE_INSUFFICIENT",
             "BAD_PARAM_STREAM_MISMATCH", "BAD_PARAM_SHAPE_MISMATCH",
             "BAD_PARAM_DUPLICATED_ENTRIES", "BAD_PARAM_ATTRIBUTE_TYPE",
             "BAD_PARAM_CUDA_GRAPH_MISMATCH", "BAD_PARAM_DESCRIPTOR_TYPE"});
        run(3000,
            {"NOT_SUPPORTED", "NOT_SUPPORTED_GRAPH_PATTERN", "NOT_SUPPORTED_SHAPE",
             "NOT_SUPPORTED_DATA_TYPE", "NOT_SUPPORTED_LAYOUT",
             "NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER", "NOT_SUPPORTED_INCOMPATIBLE_CUDART",
             "NOT_SUPPORTED_ARCH_MISMATCH", "NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING",
             "NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE", "NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
             "NOT_SUPPORTED_PADDING", "NOT_SUPPORTED_BAD_LAUNCH_PARAM",
             "NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API", "NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE"});
        run(4000, {"INTERNAL_ERROR", "INTERNAL_ERROR_COMPILATION_FAILED",
                   "INTERNAL_ERROR_UNEXPECTED_VALUE", "INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
                   "INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", "INTERNAL_ERROR_BAD_LAUNCH_PARAM",
                   "INTERNAL_ERROR_TEXTURE_CREATION_FAILED"});
        run(5000, {"EXECUTION_FAILED", "EXECUTION_FAILED_CUDA_DRIVER", "EXECUTION_FAILED_CUBLAS",
                   "EXECUTION_FAILED_CUDART", "EXECUTION_FAILED_CURAND"});
        made["ALLOC_FAILED"] = 4003;
        made["ARCH_MISMATCH"] = 3007;
        made["MAPPING_ERROR"] = 4006;
        made["RUNTIME_PREREQUISITE_MISSING"] = 3008;
        made["VERSION_MISMATCH"] = 1002;
        return made;
    }();
    return numbers;
}

} // namespace

abi::Status status_number(const std::string &name) {
    const Numbers &numbers = real().version < 90000 ? numbers_8() : numbers_9();
    const auto found = numbers.find(name);
    if (found != numbers.end()) return found->second;
    std::fprintf(stderr, "emulator: version %d has no status %s\n", real().version, name.c_str());
    std::_Exit(2);
}

} // namespace emulator
