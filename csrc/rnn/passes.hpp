// The passes over a problem's buffers, and what each needs before it.
#pragma once

#include "rnn/buffers.hpp"

#include <array>

namespace pyharness {

enum class Pass {
    kForwardInference,
    kForwardTraining,
    kBackwardData,
    kBackwardWeights,
    kTrainingStep, // forward_training, dw zeroed, backward_data, backward_weights
};
constexpr std::array<const char *, 5> kPassNames = {
    "forward_inference", "forward_training", "backward_data", "backward_weights", "training_step"};

// Throws std::invalid_argument if no pass is called so.
Pass pass_named(const std::string &name);

// How a call is made: with its status kept, or as fast as can be and CudnnError if it is refused.
enum class Making { kKept, kTimed };

class Passes {
  public:
    // The buffers must have been taken.
    Passes(Handle &handle, const Settings &settings, const Descriptors &descriptors,
           const Sizes &sizes, Buffers &buffers);

    // Brings about what a pass needs: the workspace's size, for the backward passes a reserve space
    // that nobody has used up, and dw zeroed. False at the first call that is refused.
    bool prepare(Pass pass, Making making);
    // Whether prepare() enqueues anything: such passes cannot follow one another at once.
    static bool needs_others(Pass pass) {
        return pass == Pass::kBackwardData || pass == Pass::kBackwardWeights;
    }
    bool enqueue(Pass pass, Making making);

    // What the reserve space is good for after a pass that somebody else, a graph, has run.
    void ran(Pass pass);
    void forget_workspace() { workspace_bytes_ = 0; }
    void forget_reserve_space() { reserve_ = Reserve::kUnknown; }

    // Fills the L2 cache with something else. Throws OutOfMemory if there was no room for that.
    void flush_l2() const;

  private:
    enum class Reserve { kUnknown, kOfForward, kOfBackwardData };

    template <class... Parameters, class... Arguments>
    bool make(Making making, const char *name, abi::Status (*function)(Parameters...),
              Arguments... arguments);
    bool forward(bool training, Making making);
    bool backward_data(Making making);
    bool backward_weights(Making making);
    void zero_dw() const;
    template <class T = void> T *at(const char *name) const {
        return reinterpret_cast<T *>(buffers_.address(name));
    }

    Handle &handle_;
    const Descriptors &descriptors_;
    const Sizes &sizes_;
    Buffers &buffers_;
    Reserve reserve_ = Reserve::kUnknown;

    // The arguments: resolved once, null where the call takes none.
    const std::int32_t *dev_seq_lengths_;
    void *x_, *y_, *hx_, *hy_, *cx_, *cy_, *dx_, *dy_, *dhx_, *dhy_, *dcx_, *dcy_;
    void *w_, *dw_, *workspace_, *reserve_space_;

    std::size_t workspace_bytes_ = 0; // where its guard band is now; 0: not known
    const abi::CuPointer l2_flush_;   // 0 if there was no room for it
    const std::size_t l2_flush_bytes_;
};

} // namespace pyharness
