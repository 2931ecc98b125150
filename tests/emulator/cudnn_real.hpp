// The real libcudnn that calls are forwarded to: the setting `cudnn` names it.
#pragma once

#include "abi/functions.hpp"

namespace emulator {

// The functions of the real library; null where the release has none.
struct Real {
#define MEMBER(name) pyharness::abi::name *name = nullptr;
    PYHARNESS_CUDNN_FUNCTIONS(MEMBER, MEMBER)
#undef MEMBER
    pyharness::abi::Status (*cudnnRNNGetClip_v8)(pyharness::abi::Descriptor, pyharness::abi::Enum *,
                                                 pyharness::abi::Enum *, double *,
                                                 double *) = nullptr;
    int version = 0; // as cudnnGetVersion says it: 8907, 92800
};

const Real &real();

} // namespace emulator
