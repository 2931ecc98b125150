#include "shim/library.hpp"

#include <dlfcn.h>

namespace pyharness {

namespace {

template <class Function> Function *resolve(void *handle, const char *name) {
    return reinterpret_cast<Function *>(dlsym(handle, name));
}

} // namespace

Library::Library(const std::string &path) {
    // Local, so that two libraries of one process (torch's and this one) do not answer for each
    // other.
    handle_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle_ == nullptr) {
        const char *words = dlerror();
        throw LoadError(words != nullptr ? words : path + ": cannot be loaded");
    }
    std::string missing;
#define PYHARNESS_RESOLVE(name) api_.name = resolve<abi::name>(handle_, #name);
#define PYHARNESS_RESOLVE_REQUIRED(name)                                                           \
    PYHARNESS_RESOLVE(name)                                                                        \
    if (api_.name == nullptr) missing += missing.empty() ? #name : ", " #name;
    PYHARNESS_CUDNN_FUNCTIONS(PYHARNESS_RESOLVE_REQUIRED, PYHARNESS_RESOLVE)
#undef PYHARNESS_RESOLVE_REQUIRED
#undef PYHARNESS_RESOLVE
    if (!missing.empty()) throw LoadError(path + ": has no " + missing);
}

std::string Library::status_name(abi::Status status) const {
    const char *name = api_.cudnnGetErrorString(status);
    return name != nullptr ? name : "";
}

bool Library::has(const std::string &symbol) const {
    return dlsym(handle_, symbol.c_str()) != nullptr;
}

} // namespace pyharness
