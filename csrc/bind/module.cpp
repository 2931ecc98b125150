// The table of contents of pyharness.device._core.
#include "bind/bind.hpp"

PYBIND11_MODULE(_core, module) {
    module.doc() = "cuDNN's host-validated RNN calls, walked at the speed of a bare loop";
    pyharness::bind_build(module);
    pyharness::bind_library(module);
    pyharness::bind_walk(module);
}
