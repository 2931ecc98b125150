// Named buffers in one block, with guard bands on both sides of each.
#pragma once

#include "cuda/driver.hpp"

#include <string>
#include <vector>

namespace pyharness {

class Carving {
  public:
    static constexpr std::size_t kAlignment = 256;
    static constexpr std::size_t kGuardBytes = 512;

    struct Buffer {
        std::string name;
        std::size_t offset; // from the start of the block
        std::size_t bytes;
        std::size_t room; // what it may grow to again
    };

    // Buffers lie so many bytes behind a multiple of kAlignment.
    explicit Carving(std::size_t shift = 0) : shift_(shift) {}

    // Plans a buffer behind the others. Sizes that leave 64 bits stay at their end.
    void add(std::string name, std::size_t bytes);
    std::size_t total_bytes() const { return total_; }

    // Lays the buffers over memory of total_bytes() and writes the guard bands; waits for it.
    void place(const Driver &driver, abi::CuPointer block);
    bool placed() const { return block_ != 0; }

    const std::vector<Buffer> &buffers() const { return buffers_; }
    // Null if there is no such buffer.
    const Buffer *find(const std::string &name) const;
    abi::CuPointer address(const std::string &name) const; // 0 if there is no such buffer

    // Lets a buffer end earlier, or as late as it was planned; the guard band moves with its end.
    void resize(const std::string &name, std::size_t bytes);

    // The nearest broken byte on each side of each buffer, in words; empty if all are whole. They
    // are whole again then: what breaks next is the next one's doing. The device must be idle.
    std::vector<std::string> broken() const;

  private:
    struct Damage {
        std::size_t first = 0, last = 0, count = 0; // bytes of a guard band
    };
    Damage damage(std::size_t offset) const;
    void guard_at(std::size_t offset) const;

    std::size_t shift_;
    const Driver *driver_ = nullptr;
    abi::CuPointer block_ = 0;
    std::vector<Buffer> buffers_;
    std::size_t total_ = 0;
};

} // namespace pyharness
