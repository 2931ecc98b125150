// An opened libcuda: every symbol resolved once, every failure a CudaError.
#pragma once

#include "abi/driver.hpp"
#include "shim/shared_object.hpp"

#include <stdexcept>
#include <string>

namespace pyharness {

struct CudaApi {
#define PYHARNESS_MEMBER(name) abi::name *name = nullptr;
    PYHARNESS_CUDA_FUNCTIONS(PYHARNESS_MEMBER)
#undef PYHARNESS_MEMBER
};

// A call of the driver that failed.
class CudaError : public std::runtime_error {
  public:
    CudaError(std::string call_, abi::CuResult code_, std::string name_, std::string text_)
        : std::runtime_error(call_ + ": " + name_ + ": " + text_), call(std::move(call_)),
          code(code_), name(std::move(name_)), text(std::move(text_)) {}

    const std::string call;
    const abi::CuResult code;
    const std::string name; // for example CUDA_ERROR_ILLEGAL_ADDRESS
    const std::string text; // the driver's own words
};

class Driver {
  public:
    // Opens the file at `path`. Throws LoadError if it cannot be loaded or lacks a function.
    explicit Driver(const std::string &path);

    const CudaApi &api() const { return api_; }
    // Whether it is the tests' double, which says so itself.
    bool emulated() const { return object_.address("pyharness_emulator") != nullptr; }
    int version() const; // 12080 is CUDA 12.8
    int device_count() const;

    // A function that throws CudaError, with its name, where the driver's own answers an error.
    template <class Result, class... Parameters>
    auto checked(const char *name, Result (*function)(Parameters...)) const {
        return [this, name, function](Parameters... arguments) {
            const abi::CuResult result = function(arguments...);
            if (result != abi::kCudaSuccess) fail(name, result);
        };
    }

    // Copies to the device and back. The first may still be on its way when it has returned.
    void copy_in(abi::CuPointer to, const void *from, std::size_t bytes) const;
    void copy_out(void *to, abi::CuPointer from, std::size_t bytes) const;

    CudaError error(const char *call, abi::CuResult result) const;

  private:
    [[noreturn]] void fail(const char *call, abi::CuResult result) const;

    SharedObject object_;
    CudaApi api_;
};

// A function of the driver by its name: PYHARNESS_CUDA(driver, cuStreamSynchronize)(stream).
#define PYHARNESS_CUDA(driver, name) (driver).checked(#name, (driver).api().name)

} // namespace pyharness
