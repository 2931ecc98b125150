// What the three passes have in common: their arguments checked at the call, their work put into
// the stream, planted faults done to their buffers.
#pragma once

#include "cudnn_call.hpp"
#include "cudnn_descriptors.hpp"
#include "cudnn_order.hpp"
#include "cudnn_reserve.hpp"

#include <functional>
#include <string>
#include <vector>

namespace emulator {

struct Buffer {
    std::string name; // as the setting `fault` names it
    const void *pointer;
    std::size_t bytes;
    abi::Enum data_type; // of its elements
    bool written;
    std::size_t first = 0; // offset of a value that somebody reads

    void *target() const { return const_cast<void *>(pointer); }
};

// Which functions a pass is called by.
struct PassNames {
    const char *function;
    const char *pass; // as the settings name it
    bool training, backward;
};

struct PassDescriptors {
    abi::Handle handle;
    abi::Descriptor rnn, x, y;
    const std::int32_t *dev_seq_lengths;
};

// A pass that has its turn: whether to calculate, and in which order to add.
struct Turn {
    bool compute;
    Order order;
};

class Pass {
  public:
    // Reads the descriptors and checks all that depends on nothing else. Throws Refusal.
    Pass(const PassNames &names, const PassDescriptors &descriptors);

    const RnnDescriptor &rnn() const { return rnn_; }
    const Network &network() const { return network_; }
    const Batch &batch() const { return batch_; }
    const DataDescriptor &x() const { return x_; }
    const DataDescriptor &y() const { return y_; }
    bool training() const { return names_.training; }
    bool lstm() const { return network_.cell == kLstmCell; }
    void *stream() const { return handle_.stream; }
    // A digest of all that forward and backward passes must have in common.
    std::uint64_t problem() const { return problem_; }

    // Elements of h or c.
    std::size_t state_elements(int width) const;
    // Each checks that an allocation covers the buffer. A state that is null is not there.
    void sequences(const char *name, const DataDescriptor &data, const void *tensor, bool written);
    void state(const char *name, int width, const void *tensor, bool written);
    void weights(const char *name, std::size_t bytes, const void *weight_space, bool written);
    void spaces(std::size_t workspace_bytes, void *workspace, std::size_t reserve_space_bytes,
                void *reserve_space);
    void dropout_states(const void *states, std::size_t bytes);
    // That a state's descriptor has its shape; `used` if one of its tensors is not null.
    void state_shape(const char *role, abi::Descriptor descriptor, int width, bool used) const;

    std::vector<double> load_state(int width, const void *tensor) const;
    std::vector<double> load_weights(const void *weight_space) const;
    void store_state(const std::vector<double> &values, void *tensor) const;

    // Puts the work into the stream. It leaves `phase` in the reserve space; kNothing: what was
    // there before.
    void enqueue(const Faults &faults, Phase phase, std::function<void(const Turn &)> work);

  private:
    void add(Buffer buffer);
    void check_sequences() const;
    void check_lengths() const;
    void check_algo() const;
    void check_overlaps() const;
    bool ready_to_run() const;
    void run(const std::vector<Due> &due, const Occasion &occasion,
             const std::function<void(const Turn &)> &work) const;
    const Buffer *find(const char *name) const;
    double cost_ns() const;

    PassNames names_;
    HandleState handle_; // as it is at the call
    const std::int32_t *dev_seq_lengths_;
    RnnUse use_;
    RnnDescriptor rnn_;
    Network network_;
    DataDescriptor x_, y_;
    Batch batch_;
    std::uint64_t problem_;
    std::vector<Buffer> buffers_;
    void *reserve_space_ = nullptr;
};

} // namespace emulator
