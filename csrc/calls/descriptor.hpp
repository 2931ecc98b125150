// An owned cuDNN descriptor.
#pragma once

#include "abi/functions.hpp"

#include <stdexcept>
#include <string>

namespace pyharness {

class OwnedDescriptor {
  public:
    using Create = abi::Status(abi::Descriptor *);
    using Destroy = abi::Status(abi::Descriptor);

    // Throws std::runtime_error with the status if the library does not create one.
    OwnedDescriptor(Create *create, Destroy *destroy) : destroy_(destroy) {
        const abi::Status status = create(&descriptor_);
        if (status != abi::kSuccess || descriptor_ == nullptr)
            throw std::runtime_error("a descriptor could not be created: status " +
                                     std::to_string(status));
    }
    ~OwnedDescriptor() { destroy_(descriptor_); }
    OwnedDescriptor(const OwnedDescriptor &) = delete;
    OwnedDescriptor &operator=(const OwnedDescriptor &) = delete;

    abi::Descriptor get() const { return descriptor_; }

  private:
    abi::Descriptor descriptor_ = nullptr;
    Destroy *destroy_;
};

} // namespace pyharness
