// cudnnRNNSetClip_v8 and _v9: clipping of the cell state, set on a valid descriptor of each cell
// mode.
#pragma once

#include "calls/descriptor.hpp"
#include "calls/values.hpp"
#include "shim/library.hpp"

#include <array>

namespace pyharness {

// One configured RNN descriptor for each cell mode, so that a clip call has something to act on.
class CellDescriptors {
  public:
    explicit CellDescriptors(const Api &api)
        : dropout_(api.cudnnCreateDropoutDescriptor, api.cudnnDestroyDropoutDescriptor),
          relu_(api.cudnnCreateRNNDescriptor, api.cudnnDestroyRNNDescriptor),
          tanh_(api.cudnnCreateRNNDescriptor, api.cudnnDestroyRNNDescriptor),
          lstm_(api.cudnnCreateRNNDescriptor, api.cudnnDestroyRNNDescriptor),
          gru_(api.cudnnCreateRNNDescriptor, api.cudnnDestroyRNNDescriptor),
          by_mode_{relu_.get(), tanh_.get(), lstm_.get(), gru_.get()} {
        constexpr int kStandard = 0, kDoubleBias = 2, kFloat = 0, kSize = 64;
        for (int mode = 0; mode < 4; ++mode) {
            const abi::Status status = api.cudnnSetRNNDescriptor_v8(
                by_mode_[static_cast<std::size_t>(mode)], kStandard, mode, kDoubleBias, 0, 0,
                kFloat, kFloat, 0, kSize, kSize, kSize, 1, dropout_.get(), 0);
            if (status != abi::kSuccess)
                throw std::runtime_error("a plain descriptor to clip was refused: status " +
                                         std::to_string(status));
        }
    }

    abi::Descriptor of(Value cell_mode) const {
        return by_mode_.at(static_cast<std::size_t>(cell_mode));
    }

  private:
    OwnedDescriptor dropout_, relu_, tanh_, lstm_, gru_;
    std::array<abi::Descriptor, 4> by_mode_;
};

class RnnClipV8Call {
  public:
    enum Axis { kCellMode, kClipMode, kClipNanOpt, kLclip, kRclip, kAxisCount };
    static constexpr const char *axis_names[] = {"cell_mode", "clip_mode", "clip_nan_opt", "lclip",
                                                 "rclip"};

    RnnClipV8Call(const Api &api, const Grid &) : api_(api), cells_(api) {}

    abi::Status operator()(const Value *v) {
        return api_.cudnnRNNSetClip_v8(cells_.of(v[kCellMode]), static_cast<int>(v[kClipMode]),
                                       static_cast<int>(v[kClipNanOpt]), as_real(v[kLclip]),
                                       as_real(v[kRclip]));
    }
    static constexpr bool reads_back = false;

  private:
    const Api &api_;
    CellDescriptors cells_;
};

class RnnClipV9Call {
  public:
    enum Axis { kCellMode, kClipMode, kLclip, kRclip, kAxisCount };
    static constexpr const char *axis_names[] = {"cell_mode", "clip_mode", "lclip", "rclip"};

    RnnClipV9Call(const Api &api, const Grid &) : api_(api), cells_(api) {}

    abi::Status operator()(const Value *v) {
        return api_.cudnnRNNSetClip_v9(cells_.of(v[kCellMode]), static_cast<int>(v[kClipMode]),
                                       as_real(v[kLclip]), as_real(v[kRclip]));
    }
    static constexpr bool reads_back = false;

  private:
    const Api &api_;
    CellDescriptors cells_;
};

} // namespace pyharness
