// A shared library opened at run time.
#pragma once

#include <stdexcept>
#include <string>

namespace pyharness {

// The file is no library that can be loaded, or lacks a function: what() says which, with the
// loader's words.
class LoadError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Stays open until the process ends: cuDNN and the driver keep global state and do not survive
// being closed.
class SharedObject {
  public:
    // Throws LoadError if the file cannot be loaded.
    explicit SharedObject(const std::string &path);

    const std::string &path() const { return path_; }
    void *address(const char *symbol) const; // null where there is none
    template <class Function> Function *function(const char *symbol) const {
        return reinterpret_cast<Function *>(address(symbol));
    }

  private:
    std::string path_;
    void *handle_;
};

} // namespace pyharness
