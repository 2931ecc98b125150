#include "shim/library.hpp"

namespace pyharness {

Library::Library(const std::string &path) : object_(path) {
    std::string missing;
#define PYHARNESS_RESOLVE(name) api_.name = object_.function<abi::name>(#name);
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
    return object_.address(symbol.c_str()) != nullptr;
}

void Library::require_device_functions() const {
    std::string missing;
#define PYHARNESS_MISSING(name)                                                                    \
    if (api_.name == nullptr) missing += missing.empty() ? #name : ", " #name;
    PYHARNESS_CUDNN_DEVICE_FUNCTIONS(PYHARNESS_MISSING)
#undef PYHARNESS_MISSING
    if (!missing.empty()) throw LoadError(object_.path() + ": has no " + missing);
}

} // namespace pyharness
