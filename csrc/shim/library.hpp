// One opened libcudnn: every symbol resolved once, absent ones null.
#pragma once

#include "abi/functions.hpp"
#include "shim/shared_object.hpp"

#include <string>

namespace pyharness {

// The functions of one release. A member is null where the release has no such symbol.
struct Api {
#define PYHARNESS_MEMBER(name) abi::name *name = nullptr;
    PYHARNESS_CUDNN_FUNCTIONS(PYHARNESS_MEMBER, PYHARNESS_MEMBER)
#undef PYHARNESS_MEMBER
};

class Library {
  public:
    // Opens the file at `path`. Throws LoadError if it cannot be loaded or lacks a symbol that
    // every release from 8.5 on has.
    explicit Library(const std::string &path);

    const Api &api() const { return api_; }
    std::size_t version() const { return api_.cudnnGetVersion(); }

    // The status' enumerator as the library itself names it, for example CUDNN_STATUS_BAD_PARAM.
    std::string status_name(abi::Status status) const;

    // Whether the release has the function of this C name.
    bool has(const std::string &symbol) const;

    // Throws LoadError that names every function of the device path that is not there.
    void require_device_functions() const;

  private:
    SharedObject object_;
    Api api_;
};

} // namespace pyharness
