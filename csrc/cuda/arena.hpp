// Device memory for one problem after another: an allocation that is reused and only grows.
#pragma once

#include "cuda/context.hpp"

#include <stdexcept>

namespace pyharness {

class OutOfMemory : public std::runtime_error {
  public:
    OutOfMemory(std::size_t asked_bytes_, std::size_t free_bytes_)
        : std::runtime_error("out of device memory: " + std::to_string(asked_bytes_) +
                             " bytes asked for, " + std::to_string(free_bytes_) + " free"),
          asked_bytes(asked_bytes_), free_bytes(free_bytes_) {}

    const std::size_t asked_bytes;
    const std::size_t free_bytes; // with what the arena itself would give back
};

// One allocation. Growing loses its contents: nothing in it outlives a problem.
class Block {
  public:
    explicit Block(const Context &context) : context_(context) {}
    ~Block() { release(); }
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;

    // The address of at least so many bytes, 256-byte aligned. Throws OutOfMemory before it is
    // tried if they are not free, or if the driver has not got them after all.
    abi::CuPointer need(std::size_t bytes);
    bool fits(std::size_t bytes) const { return bytes <= capacity_ || bytes <= room(); }
    std::size_t capacity() const { return capacity_; }
    void release() noexcept;

  private:
    std::size_t room() const { return context_.free_bytes() + capacity_; }

    const Context &context_;
    abi::CuPointer address_ = 0;
    std::size_t capacity_ = 0;
};

class Arena : public Tenant {
  public:
    explicit Arena(Context &context) : Tenant(context), buffers(context), dropout_states(context) {}

    std::size_t capacity() const { return buffers.capacity() + dropout_states.capacity(); }

    // One plan at a time lives in it. Throws std::logic_error if another one does.
    void lend(const void *plan) {
        if (holder_ != nullptr && holder_ != plan)
            throw std::logic_error("another plan is still open in the arena");
        holder_ = plan;
    }
    void take_back(const void *plan) noexcept {
        if (holder_ == plan) holder_ = nullptr;
    }
    // Throws std::logic_error while a plan lives in it.
    void release() {
        lend(this);
        leave();
    }
    void leave() noexcept override {
        buffers.release();
        dropout_states.release();
        holder_ = nullptr;
    }

    Block buffers;
    // Apart: a dropout descriptor holds their address, and is made before the sizes of the rest can
    // be asked for. Their size depends on the device alone, so that they are allocated once.
    Block dropout_states;

  private:
    const void *holder_ = nullptr;
};

} // namespace pyharness
