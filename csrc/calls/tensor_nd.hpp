// cudnnSetTensorNdDescriptor for the states h and c.
#pragma once

#include "calls/descriptor.hpp"
#include "calls/values.hpp"
#include "shim/library.hpp"

#include <array>

namespace pyharness {

class TensorNdCall {
  public:
    enum Axis {
        kStrides,
        kNbDims,
        kDataType,
        kTensor,
        kNumLayers,
        kDirectionMode,
        kBatchSize,
        kHiddenSize,
        kProjSize,
        kAxisCount
    };
    static constexpr const char *axis_names[] = {"strides",    "nb_dims",     "data_type",
                                                 "tensor",     "num_layers",  "direction_mode",
                                                 "batch_size", "hidden_size", "proj_size"};
    enum Strides : Value { kPacked, kTransposed, kZero, kOverlapping, kNegativeStride };
    static constexpr int kMostDims = 16;

    TensorNdCall(const Api &api, const Grid &)
        : api_(api), tensor_(api.cudnnCreateTensorDescriptor, api.cudnnDestroyTensorDescriptor) {}

    abi::Status operator()(const Value *v) {
        lay_out(v);
        return api_.cudnnSetTensorNdDescriptor(tensor_.get(), static_cast<int>(v[kDataType]),
                                               static_cast<int>(v[kNbDims]), dims_.data(),
                                               strides_.data());
    }

    static constexpr bool reads_back = true;

    // What the accepted descriptor gives back otherwise than it was set; empty when all is the
    // same.
    std::string readback(const Value *v) {
        int type, nb_dims;
        std::array<int, kMostDims> dims{}, strides{};
        const int n = static_cast<int>(v[kNbDims]);
        const abi::Status status = api_.cudnnGetTensorNdDescriptor(
            tensor_.get(), n, &type, &nb_dims, dims.data(), strides.data());
        if (status != abi::kSuccess) return "cannot be read back: status " + std::to_string(status);
        Readback read;
        read.expect("data_type", static_cast<int>(v[kDataType]), type);
        read.expect("nb_dims", n, nb_dims);
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
            read.expect("dims", dims_[i], dims[i]);
            read.expect("strides", strides_[i], strides[i]);
        }
        return read.text();
    }

  private:
    // h is [num_layers × directions, batch_size, proj_size], c has hidden_size last; further
    // dimensions are 1. A product that leaves an int stays at its end.
    void lay_out(const Value *v) {
        constexpr Value kBidirectional = 1, kH = 0;
        const int hidden_size = static_cast<int>(v[kHiddenSize]);
        dims_.fill(1);
        dims_[0] = clamp_int(v[kNumLayers] * (v[kDirectionMode] == kBidirectional ? 2 : 1));
        dims_[1] = static_cast<int>(v[kBatchSize]);
        dims_[2] = v[kTensor] == kH ? proj_size(v[kProjSize], hidden_size) : hidden_size;
        const int nb_dims = std::clamp(static_cast<int>(v[kNbDims]), 1, kMostDims);
        std::int64_t step = 1;
        for (int i = nb_dims; i-- > 0;) {
            strides_[static_cast<std::size_t>(i)] = clamp_int(step);
            step = clamp_int(step * dims_[static_cast<std::size_t>(i)]);
        }
        switch (v[kStrides]) {
        case kTransposed: // batch_size outermost
            strides_[0] = dims_[2];
            strides_[1] = clamp_int(std::int64_t{dims_[0]} * dims_[2]);
            break;
        case kZero: strides_[0] = 0; break;
        case kOverlapping: strides_.fill(1); break;
        case kNegativeStride: strides_[0] = clamp_int(-std::int64_t{strides_[0]}); break;
        default: break;
        }
    }

    const Api &api_;
    OwnedDescriptor tensor_;
    std::array<int, kMostDims> dims_{};
    std::array<int, kMostDims> strides_{};
};

} // namespace pyharness
