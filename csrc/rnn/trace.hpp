// Where a worker's parent reads what its worker was doing when it died.
#pragma once

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace pyharness {

// The stage and the call, each a C string, in memory that the parent sees too.
class Trace {
  public:
    static constexpr std::size_t kBytes = 256;

    // Throws std::invalid_argument if the memory is too small.
    Trace(void *memory, std::size_t bytes) : text_(static_cast<char *>(memory)) {
        if (bytes < kBytes) throw std::invalid_argument("a trace needs 256 bytes");
        stage("");
    }

    void stage(const char *name) {
        call_at_ = put(0, name);
        call("");
    }
    // A few nanoseconds: it may stand in a timed loop.
    void call(const char *name) { put(call_at_, name); }

  private:
    std::size_t put(std::size_t at, const char *name) {
        const std::size_t length = std::min(std::strlen(name), kBytes / 2 - 1);
        std::memcpy(text_ + at, name, length);
        text_[at + length] = '\0';
        return at + length + 1;
    }

    char *text_;
    std::size_t call_at_ = 0;
};

} // namespace pyharness
