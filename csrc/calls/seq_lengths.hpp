// The lengths of a batch's sequences: named patterns and literal lists.
#pragma once

#include "walk/grid.hpp"

#include <vector>

namespace pyharness {

enum LengthPattern : Value {
    kEqual,         // every sequence max_seq_length long
    kDescending,    // from max_seq_length down to 1
    kUnsorted,      // kDescending backwards
    kOneZero,       // the last one 0, the others max_seq_length
    kAllZero,       // every one 0
    kTrailingZeros, // the second half 0
    kOverMax,       // the first one max_seq_length + 1
    kNegative,      // the last one -1
};
constexpr Value kLiteralLengths = 1000; // kLiteralLengths + i: the grid's i-th literal list

class SeqLengths {
  public:
    explicit SeqLengths(const Grid &grid) : literals_(grid.literal_lengths) {}

    // The array for one batch; made anew only when an argument differs from the last call's.
    const int *of(Value which, int max_seq_length, int batch_size);

  private:
    void fill(LengthPattern pattern, int max_seq_length, int batch_size);

    const std::vector<std::vector<int>> &literals_;
    std::vector<int> lengths_;
    Value which_ = -1;
    int max_seq_length_ = 0;
    int batch_size_ = 0;
};

} // namespace pyharness
