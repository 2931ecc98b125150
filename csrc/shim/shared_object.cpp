#include "shim/shared_object.hpp"

#include <dlfcn.h>

namespace pyharness {

SharedObject::SharedObject(const std::string &path) : path_(path) {
    // Local, so that two libraries of one process (torch's and this one) do not answer for each
    // other.
    handle_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle_ == nullptr) {
        const char *words = dlerror();
        throw LoadError(words != nullptr ? words : path + ": cannot be loaded");
    }
}

void *SharedObject::address(const char *symbol) const { return dlsym(handle_, symbol); }

} // namespace pyharness
