#include "cudnn_real.hpp"
#include "device.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <sstream>

namespace emulator {

namespace {

[[noreturn]] void give_up(const std::string &why) {
    std::fprintf(stderr, "emulator: %s\n", why.c_str());
    std::_Exit(2);
}

Real open_real() {
    const auto path = setting("cudnn");
    if (!path) give_up("the setting cudnn=PATH must name a real libcudnn");
    // By its path, so that the loader does not take this library for it: both have one name.
    void *handle = dlopen(path->c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) give_up(dlerror());
    Real found;
#define RESOLVE(name) found.name = reinterpret_cast<pyharness::abi::name *>(dlsym(handle, #name));
#define RESOLVE_REQUIRED(name)                                                                     \
    RESOLVE(name) if (found.name == nullptr) give_up(*path + " has no " #name);
    PYHARNESS_CUDNN_FUNCTIONS(RESOLVE_REQUIRED, RESOLVE)
#undef RESOLVE_REQUIRED
#undef RESOLVE
    found.cudnnRNNGetClip_v8 =
        reinterpret_cast<decltype(found.cudnnRNNGetClip_v8)>(dlsym(handle, "cudnnRNNGetClip_v8"));
    if (found.cudnnRNNGetClip_v8 == nullptr) give_up(*path + " has no cudnnRNNGetClip_v8");
    found.version = static_cast<int>(found.cudnnGetVersion());
    return found;
}

__attribute__((constructor)) void load() {
    Dl_info self;
    // A function that nothing outside can answer for.
    if (dladdr(reinterpret_cast<void *>(open_real), &self) != 0) {
        const std::string path = self.dli_fname;
        std::ifstream file(path.substr(0, path.rfind('/') + 1) + "emulator.conf");
        if (file) {
            std::ostringstream text;
            text << file.rdbuf();
            configure(text.str());
        }
    }
    real();
}

} // namespace

const Real &real() {
    static const Real opened = open_real();
    return opened;
}

} // namespace emulator

extern "C" EMULATOR_API int pyharness_emulator;
int pyharness_emulator = 1;
