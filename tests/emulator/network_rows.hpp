// The steps that exist: sequences of different lengths without the steps past their ends.
#pragma once

#include "network.hpp"

namespace emulator {

constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

// One row for each step of each sequence, the rows of a step in the order of the batch.
class Rows {
  public:
    explicit Rows(const Batch &batch);

    std::size_t count() const { return places_.size(); }
    std::size_t begin(int step) const { return begins_[static_cast<std::size_t>(step)]; }
    std::size_t end(int step) const { return begins_[static_cast<std::size_t>(step) + 1]; }
    std::size_t sequence(std::size_t row) const { return places_[row] % size_; }
    // Of the row in an array [steps, size].
    std::size_t place(std::size_t row) const { return places_[row]; }
    // The same sequence's row one step earlier in this direction; kNoRow: the initial state.
    std::size_t before(std::size_t row, int direction) const;
    // The row of a sequence that this direction does last; kNoRow if the sequence is empty.
    std::size_t last(std::size_t sequence, int direction) const;

  private:
    std::size_t size_;
    std::vector<std::size_t> begins_; // by step
    std::vector<std::size_t> places_; // by row
    std::vector<std::size_t> rows_;   // by place; kNoRow past the end of a sequence
    std::vector<int> lengths_;
};

// The rows of an array [steps, size, width], one behind the other; and back.
std::vector<double> gathered(const Rows &rows, const double *array, std::size_t width);
void scatter(const Rows &rows, const double *values, std::size_t width, double *array);

// The states of one pseudo-layer and direction that its steps start from.
class States {
  public:
    // `first` [size, width] may be null, zeros; `later` are rows that lie `stride` apart.
    States(const Rows &rows, int direction, const double *first, const double *later,
           std::size_t width, std::size_t stride)
        : rows_(rows), direction_(direction), first_(first), later_(later), width_(width),
          stride_(stride), zeros_(width) {}

    const double *before(std::size_t row) const {
        return at(rows_.before(row, direction_), rows_.sequence(row));
    }
    const double *last(std::size_t sequence) const {
        return at(rows_.last(sequence, direction_), sequence);
    }
    // The states before the rows from `begin` to `end`, one behind the other.
    std::vector<double> before(std::size_t begin, std::size_t end) const;

  private:
    const double *at(std::size_t row, std::size_t sequence) const {
        if (row != kNoRow) return later_ + row * stride_;
        return first_ ? first_ + sequence * width_ : zeros_.data();
    }

    const Rows &rows_;
    int direction_;
    const double *first_, *later_;
    std::size_t width_, stride_;
    std::vector<double> zeros_;
};

} // namespace emulator
