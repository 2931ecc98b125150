// The table of contents of pyharness.device._core.
#include "bind/bind.hpp"

PYBIND11_MODULE(_core, module) {
    module.doc() =
        "cuDNN's RNN calls: walked where they need no device, run and timed where they do";
    pyharness::bind_build(module);
    pyharness::bind_library(module);
    pyharness::bind_walk(module);
    pyharness::bind_device(module);
    pyharness::bind_plan(module);
}
