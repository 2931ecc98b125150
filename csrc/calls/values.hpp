// What an axis value stands for where it is more than an integer to hand over.
// pyharness/spec/axes.py gives the same numbers their names.
#pragma once

#include "walk/grid.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>

namespace pyharness {

constexpr Value kProjSame = Value{1} << 40; // proj_size = hidden_size
constexpr Value kProjHalf = kProjSame + 1;  // proj_size = hidden_size / 2
constexpr Value kProjOver = kProjSame + 2;  // proj_size = hidden_size + 1

inline int clamp_int(std::int64_t value) {
    return static_cast<int>(std::clamp<std::int64_t>(value, std::numeric_limits<int>::min(),
                                                     std::numeric_limits<int>::max()));
}

inline int proj_size(Value value, int hidden_size) {
    if (value < kProjSame) return static_cast<int>(value);
    if (value == kProjSame) return hidden_size;
    if (value == kProjHalf) return hidden_size / 2;
    return clamp_int(std::int64_t{hidden_size} + 1);
}

inline double as_real(Value bits) {
    double real;
    std::memcpy(&real, &bits, sizeof(real));
    return real;
}

// Collects the fields that a library gives back otherwise than they were set.
class Readback {
  public:
    template <class T> void expect(const char *field, T set, T got) {
        if (set == got) return;
        text_ << (text_.tellp() > 0 ? ", " : "") << field << ' ' << +set << " reads back as "
              << +got;
    }
    std::string text() const { return text_.str(); }

  private:
    std::ostringstream text_;
};

} // namespace pyharness
