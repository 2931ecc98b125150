// A Cartesian grid of axis values, and an odometer that steps through it, last axis fastest.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace pyharness {

// An axis value as it travels: an integer, or the bits of a double for a real axis.
using Value = std::int64_t;

struct Grid {
    std::vector<std::vector<Value>> axes;
    std::vector<std::vector<int>> literal_lengths; // what kLiteralLengths + i stands for

    std::int64_t size() const {
        std::int64_t n = 1;
        for (const auto &axis : axes)
            n *= static_cast<std::int64_t>(axis.size());
        return n;
    }
};

class Odometer {
  public:
    Odometer(const Grid &grid, std::int64_t row) : values_(grid.axes.size()) {
        for (std::size_t a = 0; a < grid.axes.size(); ++a) {
            if (grid.axes[a].empty()) throw std::invalid_argument("an axis without values");
            // An axis with one value never turns: leaving it out keeps next() short.
            if (grid.axes[a].size() > 1) wheels_.push_back({grid.axes[a].data(), 0, 0, a});
            values_[a] = grid.axes[a][0];
        }
        for (auto &wheel : wheels_)
            wheel.count = grid.axes[wheel.axis].size();
        seek(row);
    }

    void seek(std::int64_t row) {
        for (std::size_t w = wheels_.size(); w-- > 0;) {
            const auto n = static_cast<std::int64_t>(wheels_[w].count);
            turn(wheels_[w], static_cast<std::size_t>(row % n));
            row /= n;
        }
    }

    void next() {
        for (std::size_t w = wheels_.size(); w-- > 0;) {
            if (wheels_[w].digit + 1 < wheels_[w].count)
                return turn(wheels_[w], wheels_[w].digit + 1);
            turn(wheels_[w], 0);
        }
    }

    const Value *values() const { return values_.data(); }

  private:
    struct Wheel {
        const Value *labels;
        std::size_t digit;
        std::size_t count;
        std::size_t axis;
    };

    void turn(Wheel &wheel, std::size_t digit) {
        wheel.digit = digit;
        values_[wheel.axis] = wheel.labels[digit];
    }

    std::vector<Wheel> wheels_;
    std::vector<Value> values_;
};

} // namespace pyharness
