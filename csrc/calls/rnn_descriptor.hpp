// cudnnSetRNNDescriptor_v8: every argument an axis.
#pragma once

#include "calls/descriptor.hpp"
#include "calls/values.hpp"
#include "shim/library.hpp"

namespace pyharness {

class RnnDescriptorCall {
  public:
    enum Axis {
        kAlgo,
        kCellMode,
        kBiasMode,
        kDirectionMode,
        kInputMode,
        kDataType,
        kMathPrec,
        kMathType,
        kInputSize,
        kHiddenSize,
        kProjSize,
        kNumLayers,
        kDropout,
        kAuxFlags,
        kAxisCount
    };
    static constexpr const char *axis_names[] = {
        "algo",      "cell_mode",  "bias_mode", "direction_mode", "input_mode",
        "data_type", "math_prec",  "math_type", "input_size",     "hidden_size",
        "proj_size", "num_layers", "dropout",   "aux_flags"};

    RnnDescriptorCall(const Api &api, const Grid &)
        : api_(api), rnn_(api.cudnnCreateRNNDescriptor, api.cudnnDestroyRNNDescriptor),
          dropout_(api.cudnnCreateDropoutDescriptor, api.cudnnDestroyDropoutDescriptor) {}

    abi::Status operator()(const Value *v) {
        const auto hidden_size = static_cast<std::int32_t>(v[kHiddenSize]);
        return api_.cudnnSetRNNDescriptor_v8(
            rnn_.get(), static_cast<int>(v[kAlgo]), static_cast<int>(v[kCellMode]),
            static_cast<int>(v[kBiasMode]), static_cast<int>(v[kDirectionMode]),
            static_cast<int>(v[kInputMode]), static_cast<int>(v[kDataType]),
            static_cast<int>(v[kMathPrec]), static_cast<int>(v[kMathType]),
            static_cast<std::int32_t>(v[kInputSize]), hidden_size,
            proj_size(v[kProjSize], hidden_size), static_cast<std::int32_t>(v[kNumLayers]),
            dropout(v), static_cast<std::uint32_t>(v[kAuxFlags]));
    }

    static constexpr bool reads_back = true;

    // What the accepted descriptor gives back otherwise than it was set; empty when all is the
    // same.
    std::string readback(const Value *v) {
        int algo, cell, bias, direction, input, type, prec, math;
        std::int32_t input_size, hidden_size, proj, layers;
        abi::Descriptor drop;
        std::uint32_t aux;
        const abi::Status status = api_.cudnnGetRNNDescriptor_v8(
            rnn_.get(), &algo, &cell, &bias, &direction, &input, &type, &prec, &math, &input_size,
            &hidden_size, &proj, &layers, &drop, &aux);
        if (status != abi::kSuccess) return "cannot be read back: status " + std::to_string(status);
        Readback read;
        const auto set = [v](Axis axis) { return static_cast<int>(v[axis]); };
        read.expect("algo", set(kAlgo), algo);
        read.expect("cell_mode", set(kCellMode), cell);
        read.expect("bias_mode", set(kBiasMode), bias);
        read.expect("direction_mode", set(kDirectionMode), direction);
        read.expect("input_mode", set(kInputMode), input);
        read.expect("data_type", set(kDataType), type);
        read.expect("math_prec", set(kMathPrec), prec);
        read.expect("math_type", set(kMathType), math);
        read.expect("input_size", set(kInputSize), input_size);
        read.expect("hidden_size", set(kHiddenSize), hidden_size);
        read.expect("proj_size", proj_size(v[kProjSize], set(kHiddenSize)), proj);
        read.expect("num_layers", set(kNumLayers), layers);
        read.expect("aux_flags", static_cast<std::uint32_t>(v[kAuxFlags]), aux);
        return read.text();
    }

  private:
    abi::Descriptor dropout(const Value *v) const {
        return v[kDropout] != 0 ? dropout_.get() : nullptr;
    }

    const Api &api_;
    OwnedDescriptor rnn_;
    OwnedDescriptor dropout_;
};

} // namespace pyharness
