// cudnnSetRNNDataDescriptor: the batch of sequences that goes in or comes out.
#pragma once

#include "calls/descriptor.hpp"
#include "calls/seq_lengths.hpp"
#include "calls/values.hpp"
#include "shim/library.hpp"

namespace pyharness {

class RnnDataCall {
  public:
    // The lengths' arguments turn slowest: the array is made once for all the rest.
    enum Axis {
        kSeqLengths,
        kMaxSeqLength,
        kBatchSize,
        kLayout,
        kDataType,
        kVectorSize,
        kPaddingFill,
        kAxisCount
    };
    static constexpr const char *axis_names[] = {"seq_lengths", "max_seq_length", "batch_size",
                                                 "layout",      "data_type",      "vector_size",
                                                 "padding_fill"};

    RnnDataCall(const Api &api, const Grid &grid)
        : api_(api), data_(api.cudnnCreateRNNDataDescriptor, api.cudnnDestroyRNNDataDescriptor),
          lengths_(grid) {}

    abi::Status operator()(const Value *v) {
        const int max_seq_length = static_cast<int>(v[kMaxSeqLength]);
        const int batch_size = static_cast<int>(v[kBatchSize]);
        return api_.cudnnSetRNNDataDescriptor(
            data_.get(), static_cast<int>(v[kDataType]), static_cast<int>(v[kLayout]),
            max_seq_length, batch_size, static_cast<int>(v[kVectorSize]),
            lengths_.of(v[kSeqLengths], max_seq_length, batch_size),
            v[kPaddingFill] != 0 ? &padding_fill_ : nullptr);
    }

    static constexpr bool reads_back = true;

    // What the accepted descriptor gives back otherwise than it was set; empty when all is the
    // same.
    std::string readback(const Value *v) {
        int type, layout, max_seq_length, batch_size, vector_size;
        const int n = static_cast<int>(v[kBatchSize]);
        std::vector<int> got(static_cast<std::size_t>(std::max(n, 1)));
        double fill = 0;
        const abi::Status status =
            api_.cudnnGetRNNDataDescriptor(data_.get(), &type, &layout, &max_seq_length,
                                           &batch_size, &vector_size, n, got.data(), &fill);
        if (status != abi::kSuccess) return "cannot be read back: status " + std::to_string(status);
        Readback read;
        read.expect("data_type", static_cast<int>(v[kDataType]), type);
        read.expect("layout", static_cast<int>(v[kLayout]), layout);
        read.expect("max_seq_length", static_cast<int>(v[kMaxSeqLength]), max_seq_length);
        read.expect("batch_size", n, batch_size);
        read.expect("vector_size", static_cast<int>(v[kVectorSize]), vector_size);
        const int *set = lengths_.of(v[kSeqLengths], static_cast<int>(v[kMaxSeqLength]), n);
        for (int i = 0; i < n; ++i)
            if (set[i] != got[static_cast<std::size_t>(i)]) {
                read.expect("seq_lengths", set[i], got[static_cast<std::size_t>(i)]);
                break;
            }
        return read.text();
    }

  private:
    const Api &api_;
    OwnedDescriptor data_;
    SeqLengths lengths_;
    double padding_fill_ = 0; // as wide as the widest data type
};

} // namespace pyharness
