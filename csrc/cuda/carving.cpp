#include "cuda/carving.hpp"

#include <limits>

namespace pyharness {

namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

std::size_t plus(std::size_t a, std::size_t b) { return a > kMost - b ? kMost : a + b; }

std::size_t aligned(std::size_t bytes) {
    const std::size_t up = plus(bytes, Carving::kAlignment - 1);
    return up - up % Carving::kAlignment;
}

// The byte of a guard band at an offset of the block. A NaN in every floating-point type, so that
// what is read from there shows, and another one every 2 bytes, so that no constant that is written
// there looks like it.
unsigned char pattern(std::size_t offset) {
    if (offset % 2 == 0) return static_cast<unsigned char>(0xf1 + offset / 2 % 15);
    return offset / 2 % 2 == 0 ? 0x7f : 0xff;
}

std::string words(const std::string &name, std::size_t nearest, const char *side,
                  std::size_t broken) {
    std::string text = name + ": byte " + std::to_string(nearest) + ' ' + side;
    if (broken > 1) text += ", " + std::to_string(broken) + " bytes in all";
    return text;
}

} // namespace

void Carving::add(std::string name, std::size_t bytes) {
    const std::size_t offset = plus(total_, kGuardBytes + shift_);
    buffers_.push_back({std::move(name), offset, bytes, bytes});
    total_ = aligned(plus(plus(offset, bytes), kGuardBytes));
}

void Carving::place(const Driver &driver, abi::CuPointer block) {
    driver_ = &driver;
    block_ = block;
    for (const Buffer &buffer : buffers_) {
        guard_at(buffer.offset - kGuardBytes);
        guard_at(buffer.offset + buffer.bytes);
    }
    PYHARNESS_CUDA(*driver_, cuCtxSynchronize)();
}

const Carving::Buffer *Carving::find(const std::string &name) const {
    for (const Buffer &buffer : buffers_)
        if (buffer.name == name) return &buffer;
    return nullptr;
}

abi::CuPointer Carving::address(const std::string &name) const {
    const Buffer *buffer = find(name);
    return buffer != nullptr && block_ != 0 ? block_ + buffer->offset : 0;
}

void Carving::resize(const std::string &name, std::size_t bytes) {
    for (Buffer &buffer : buffers_) {
        if (buffer.name != name || buffer.bytes == bytes) continue;
        if (bytes > buffer.room) throw std::logic_error(name + " has no room for its new size");
        buffer.bytes = bytes;
        guard_at(buffer.offset + buffer.bytes);
        PYHARNESS_CUDA(*driver_, cuCtxSynchronize)();
    }
}

std::vector<std::string> Carving::broken() const {
    std::vector<std::string> found;
    for (const Buffer &buffer : buffers_) {
        const std::size_t start = buffer.offset - kGuardBytes, end = buffer.offset + buffer.bytes;
        const Damage before = damage(start), behind = damage(end);
        if (before.count > 0)
            found.push_back(
                words(buffer.name, kGuardBytes - before.last, "before the start", before.count));
        if (behind.count > 0)
            found.push_back(words(buffer.name, behind.first + 1, "behind the end", behind.count));
    }
    return found;
}

Carving::Damage Carving::damage(std::size_t offset) const {
    std::vector<unsigned char> guard(kGuardBytes);
    driver_->copy_out(guard.data(), block_ + offset, kGuardBytes);
    Damage found;
    for (std::size_t i = 0; i < kGuardBytes; ++i) {
        if (guard[i] == pattern(offset + i)) continue;
        if (found.count++ == 0) found.first = i;
        found.last = i;
    }
    if (found.count > 0) guard_at(offset);
    return found;
}

void Carving::guard_at(std::size_t offset) const {
    std::vector<unsigned char> guard(kGuardBytes);
    for (std::size_t i = 0; i < kGuardBytes; ++i)
        guard[i] = pattern(offset + i);
    driver_->copy_in(block_ + offset, guard.data(), kGuardBytes);
}

} // namespace pyharness
