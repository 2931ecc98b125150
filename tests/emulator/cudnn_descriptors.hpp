// What descriptors say: read back from the real library, and what it has no way to tell
// remembered.
#pragma once

#include "cudnn_exports.hpp"
#include "network.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace emulator {

// The kinds of objects that are counted.
constexpr const char *kRnnKind = "RNN descriptor";
constexpr const char *kDataKind = "RNN data descriptor";
constexpr const char *kTensorKind = "tensor descriptor";
constexpr const char *kDropoutKind = "dropout descriptor";
constexpr const char *kHandleKind = "cuDNN handle";

// Values remembered by the address of an object, until it is destroyed.
template <class Value> class Memory {
  public:
    Value get(const void *object) const {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = values_.find(object);
        return found != values_.end() ? found->second : Value{};
    }
    template <class Change> void change(const void *object, Change change) {
        const std::lock_guard<std::mutex> lock(mutex_);
        change(values_[object]);
    }
    void forget(const void *object) {
        const std::lock_guard<std::mutex> lock(mutex_);
        values_.erase(object);
    }

  private:
    mutable std::mutex mutex_;
    std::map<const void *, Value> values_;
};

struct RnnDescriptor {
    abi::Enum algo, cell_mode, bias_mode, direction_mode, input_mode;
    abi::Enum data_type, math_prec, math_type;
    std::int32_t input_size, hidden_size, proj_size, num_layers;
    abi::Descriptor dropout;
    std::uint32_t aux_flags;
    abi::Enum clip_mode, clip_nan_opt;
    double lclip, rclip;

    int directions() const { return direction_mode == 1 ? 2 : 1; }
    Network network() const;
    // Every field but the dropout descriptor, as bytes to be compared.
    std::string key() const;
};

// What was done with an RNN descriptor that it does not hold itself.
struct RnnUse {
    std::string sized[2]; // what the sizes of inference and training were last asked for
    std::string built;    // what cudnnBuildRNNDynamic built
};
Memory<RnnUse> &rnn_uses();

struct DataDescriptor {
    abi::Enum data_type, layout;
    int max_seq_length, batch_size, vector_size;
    std::vector<int> seq_lengths;
    std::vector<unsigned char> padding_fill; // one element; empty: none was given

    Batch batch() const { return {max_seq_length, batch_size, seq_lengths}; }
    // All but the width and the filling.
    std::string key() const;
};
// Whether padding_fill was given.
Memory<bool> &filled();

struct TensorDescriptor {
    abi::Enum data_type;
    std::vector<int> dims, strides;
};
// Tensor descriptors that describe a part of the weights that does not exist.
Memory<bool> &absent();

// Dropout as cudnnSetDropoutDescriptor set it.
struct Dropout {
    float rate = 0;
    void *states = nullptr;
};
Memory<Dropout> &dropouts();

// Each throws Refusal if there is no such object, or none that was set.
RnnDescriptor read_rnn(abi::Descriptor rnn);
DataDescriptor read_data(abi::Descriptor data, const char *role);
TensorDescriptor read_tensor(abi::Descriptor tensor, const char *role);
// No dropout for a descriptor that is null or was never set.
Dropout read_dropout(abi::Descriptor dropout);

} // namespace emulator
