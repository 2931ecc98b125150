// A device's primary context, and what lives in it.
#pragma once

#include "cuda/driver.hpp"

#include <string>
#include <utility>
#include <vector>

namespace pyharness {

class Context;

// What holds something of a context: it must let go before the context does.
class Tenant {
  public:
    Tenant(const Tenant &) = delete;
    Tenant &operator=(const Tenant &) = delete;

    // Lets go of everything; what is called afterwards fails. Never throws, may be called twice.
    virtual void leave() noexcept = 0;

  protected:
    explicit Tenant(Context &context);
    virtual ~Tenant();

    Context &context_;
};

struct DeviceFacts {
    std::string name;
    std::string compute_capability; // for example 9.0
    std::size_t memory_bytes;
    int multiprocessors;
    int l2_bytes;
    std::string pci_bus_id;
    int driver_version;
};

// The primary context is the one that CuPy and torch use too: memory can be shared with them.
class Context {
  public:
    Context(const Driver &driver, int ordinal);
    ~Context() { close(); }
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    const Driver &driver() const { return driver_; }

    // Makes the context this thread's: others (CuPy, torch) may have set their own in between.
    // Throws std::logic_error once it is closed.
    void use() const;
    // The same for what is let go of, from whatever thread: false once it is closed.
    bool try_use() const noexcept;
    void synchronize() const;
    std::size_t free_bytes() const;
    std::pair<std::size_t, std::size_t> memory() const; // free and total bytes
    DeviceFacts facts() const;
    int attribute(int which) const;

    // Lets every tenant leave, the youngest first, then releases the primary context.
    void close() noexcept;

  private:
    friend class Tenant;

    const Driver &driver_;
    abi::CuDevice device_ = 0;
    abi::CuContext context_ = nullptr;
    std::vector<Tenant *> tenants_;
};

} // namespace pyharness
