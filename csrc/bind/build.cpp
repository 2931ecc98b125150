// How the extension was built, for `pyharness doctor`, and what a worker needs of its process.
#include "bind/bind.hpp"

#include <csignal>
#include <sys/prctl.h>

namespace pyharness {

void bind_build(pybind11::module_ &module) {
    module.attr("compiler") = PYHARNESS_COMPILER;
    module.attr("build_type") = PYHARNESS_BUILD_TYPE;
    module.def(
        "die_with_parent", [] { prctl(PR_SET_PDEATHSIG, SIGKILL); },
        "Ends this process when the one that started it ends, however that happens.");
}

} // namespace pyharness
