#include "calls/seq_lengths.hpp"

#include "calls/values.hpp"

#include <stdexcept>

namespace pyharness {

const int *SeqLengths::of(Value which, int max_seq_length, int batch_size) {
    if (which == which_ && max_seq_length == max_seq_length_ && batch_size == batch_size_)
        return lengths_.data();
    which_ = which;
    max_seq_length_ = max_seq_length;
    batch_size_ = batch_size;
    if (which >= kLiteralLengths) {
        lengths_ = literals_.at(static_cast<std::size_t>(which - kLiteralLengths));
        // The library reads batch_size entries, whatever there is.
        if (static_cast<std::int64_t>(lengths_.size()) < batch_size)
            throw std::invalid_argument("a list of lengths is shorter than its batch");
    } else fill(static_cast<LengthPattern>(which), max_seq_length, batch_size);
    return lengths_.data();
}

void SeqLengths::fill(LengthPattern pattern, int max_seq_length, int batch_size) {
    // A batch of none or fewer is a value to try too: the library then reads nothing, or one entry.
    const auto n = static_cast<std::size_t>(std::max(batch_size, 1));
    lengths_.assign(n, max_seq_length);
    const auto sloping = [=](std::size_t i) {
        const auto drop = (std::int64_t{max_seq_length} - 1) * static_cast<std::int64_t>(i) /
                          std::max<std::int64_t>(static_cast<std::int64_t>(n) - 1, 1);
        return clamp_int(max_seq_length - drop);
    };
    switch (pattern) {
    case kEqual: break;
    case kDescending:
        for (std::size_t i = 0; i < n; ++i)
            lengths_[i] = sloping(i);
        break;
    case kUnsorted:
        for (std::size_t i = 0; i < n; ++i)
            lengths_[i] = sloping(n - 1 - i);
        break;
    case kOneZero: lengths_.back() = 0; break;
    case kAllZero: lengths_.assign(n, 0); break;
    case kTrailingZeros:
        for (std::size_t i = n / 2; i < n; ++i)
            lengths_[i] = 0;
        break;
    case kOverMax: lengths_.front() = clamp_int(std::int64_t{max_seq_length} + 1); break;
    case kNegative: lengths_.back() = -1; break;
    }
}

} // namespace pyharness
