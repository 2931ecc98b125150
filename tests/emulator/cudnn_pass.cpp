#include "cudnn_pass.hpp"
#include "cudnn_damage.hpp"
#include "cudnn_handle.hpp"
#include "cudnn_real.hpp"
#include "cudnn_sequences.hpp"
#include "cudnn_sizes.hpp"
#include "cudnn_types.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

namespace emulator {

namespace {

constexpr abi::Enum kFloatType = 0, kDoubleType = 1; // cudnnDataType_t
constexpr int kLengthsIgnoredFrom = 8901;
// What the spaces hold is aligned so.
constexpr std::uintptr_t kSpaceAlignment = 16;

} // namespace

Pass::Pass(const PassNames &names, const PassDescriptors &descriptors)
    : names_(names), handle_(state_of(descriptors.handle)),
      dev_seq_lengths_(real().version < kLengthsIgnoredFrom ? descriptors.dev_seq_lengths
                                                            : nullptr),
      use_(rnn_uses().get(descriptors.rnn)), rnn_(read_rnn(descriptors.rnn)),
      network_(rnn_.network()), x_(read_data(descriptors.x, "xDesc")),
      y_(read_data(descriptors.y, "yDesc")), batch_(x_.batch()),
      problem_(digest(rnn_.key() + x_.key())) {
    check_sequences();
    check_lengths();
    check_network(rnn_);
    check_algo();
    forbid_if(use_.sized[names_.training ? 1 : 0] != sized_for(rnn_, x_),
              "the sizes of the spaces were not asked for this problem");
    if (real().version < kLengthsIgnoredFrom) {
        refuse_if(dev_seq_lengths_ == nullptr, "BAD_PARAM", "devSeqLengths == NULL");
        add({"dev_seq_lengths", dev_seq_lengths_,
             sizeof(std::int32_t) * static_cast<std::size_t>(batch_.size), kFloatType, false});
    }
}

void Pass::check_sequences() const {
    refuse_if(x_.data_type != rnn_.data_type || y_.data_type != rnn_.data_type, "BAD_PARAM",
              "xDesc, yDesc and rnnDesc have different data types");
    refuse_if(x_.key() != y_.key(), "BAD_PARAM",
              "xDesc and yDesc have different layouts or lengths");
    refuse_if(x_.vector_size != rnn_.input_size, "BAD_PARAM", "xDesc->vectorSize != inputSize");
    refuse_if(y_.vector_size != rnn_.proj_size * rnn_.directions(), "BAD_PARAM",
              "yDesc->vectorSize != projSize * directions");
}

void Pass::check_lengths() const {
    const auto [least, most] = std::minmax_element(batch_.lengths.begin(), batch_.lengths.end());
    refuse_if(*most == 0, "BAD_PARAM", "every sequence is empty");
    refuse_if(names_.backward && *least == 0, "BAD_PARAM", "a sequence is empty");
    constexpr abi::Enum kSeqMajorPacked = 1;
    refuse_if(x_.layout != kSeqMajorPacked && *least != x_.max_seq_length && rnn_.aux_flags == 0,
              "BAD_PARAM",
              "an unpacked layout with unequal lengths needs CUDNN_RNN_PADDED_IO_ENABLED");
}

void Pass::check_algo() const {
    enum { kStandard, kPersistStatic, kPersistDynamic, kSmallH }; // cudnnRNNAlgo_t
    if (rnn_.algo == kStandard) return;
    refuse_if(network_.directions == 2, "NOT_SUPPORTED", "a persistent algo has one direction");
    if (rnn_.algo == kPersistDynamic) {
        forbid_if(use_.built != rnn_.key() + std::to_string(batch_.size),
                  "cudnnBuildRNNDynamic was not called for this network and batch size");
        return;
    }
    const auto equal = [&](int length) { return length == batch_.lengths[0]; };
    refuse_if(!std::all_of(batch_.lengths.begin(), batch_.lengths.end(), equal), "NOT_SUPPORTED",
              "this algo needs sequences of equal length");
    const bool plain = network_.cell == kReluCell || network_.cell == kTanhCell;
    int most = 1024;
    if (rnn_.algo == kSmallH) most = names_.backward ? (plain ? 256 : 128) : (plain ? 384 : 192);
    refuse_if(rnn_.hidden_size > most, "NOT_SUPPORTED",
              "hiddenSize > " + std::to_string(most) + " with this algo");
}

std::size_t Pass::state_elements(int width) const {
    return static_cast<std::size_t>(network_.pseudo_layers()) *
           static_cast<std::size_t>(batch_.size) * static_cast<std::size_t>(width);
}

void Pass::add(Buffer buffer) {
    const std::size_t has = room(buffer.pointer);
    forbid_if(has < buffer.bytes || has == 0,
              has == 0 ? "no allocation covers " + buffer.name
                       : buffer.name + " needs " + std::to_string(buffer.bytes) +
                             " bytes, its allocation ends after " + std::to_string(has));
    forbid_if(reinterpret_cast<std::uintptr_t>(buffer.pointer) % element_bytes(buffer.data_type) !=
                  0,
              buffer.name + " is not aligned to its elements");
    buffers_.push_back(std::move(buffer));
}

void Pass::sequences(const char *name, const DataDescriptor &data, const void *tensor,
                     bool written) {
    const std::size_t element = element_bytes(data.data_type);
    add({name, tensor, sequence_elements(data) * element, data.data_type, written,
         first_element(data) * element});
}

void Pass::state(const char *name, int width, const void *tensor, bool written) {
    if (tensor != nullptr)
        add({name, tensor, state_elements(width) * element_bytes(rnn_.data_type), rnn_.data_type,
             written});
}

void Pass::weights(const char *name, std::size_t bytes, const void *weight_space, bool written) {
    const std::size_t needed = weight_space_bytes(rnn_);
    forbid_if(bytes != needed, "the weight space has " + std::to_string(needed) + " bytes, " +
                                   std::to_string(bytes) + " given");
    add({name, weight_space, needed, rnn_.data_type, written});
}

void Pass::spaces(std::size_t workspace_bytes, void *workspace, std::size_t reserve_space_bytes,
                  void *reserve_space) {
    const TempSpace needed = temp_space(rnn_, names_.training, x_);
    const auto space = [&](const char *name, std::size_t given, std::size_t bytes, void *pointer,
                           std::size_t first) {
        forbid_if(given < bytes, std::string(name) + " needs " + std::to_string(bytes) +
                                     " bytes, " + std::to_string(given) + " given");
        forbid_if(reinterpret_cast<std::uintptr_t>(pointer) % kSpaceAlignment != 0,
                  std::string(name) + " is not aligned");
        add({name, pointer, bytes, kDoubleType, true, first});
    };
    space("workspace", workspace_bytes, needed.workspace_bytes, workspace, 0);
    if (!names_.training) return;
    space("reserve_space", reserve_space_bytes, needed.reserve_space_bytes, reserve_space,
          kStampBytes);
    reserve_space_ = reserve_space;
}

void Pass::dropout_states(const void *states, std::size_t bytes) {
    add({"dropout states", states, bytes, kDoubleType, true});
}

void Pass::state_shape(const char *role, abi::Descriptor descriptor, int width, bool used) const {
    if (descriptor == nullptr && !used) return;
    const TensorDescriptor is = read_tensor(descriptor, role);
    const std::vector<int> dims = {network_.pseudo_layers(), batch_.size, width};
    const std::vector<int> strides = {batch_.size * width, width, 1};
    forbid_if(is.dims != dims || is.strides != strides || is.data_type != rnn_.data_type,
              std::string(role) + " is not [layers * directions, batchSize, " +
                  std::to_string(width) + "] of the network's data type, packed");
}

std::vector<double> Pass::load_state(int width, const void *tensor) const {
    if (tensor == nullptr) return {};
    std::vector<double> values(state_elements(width));
    load(rnn_.data_type, tensor, values.size(), values.data());
    return values;
}

std::vector<double> Pass::load_weights(const void *weight_space) const {
    std::vector<double> values(weight_count(network_));
    load(rnn_.data_type, weight_space, values.size(), values.data());
    return values;
}

void Pass::store_state(const std::vector<double> &values, void *tensor) const {
    if (tensor != nullptr) store(rnn_.data_type, values.data(), values.size(), tensor);
}

// What is written may share no byte with anything else.
void Pass::check_overlaps() const {
    for (const Buffer &written : buffers_) {
        if (!written.written) continue;
        const auto *begin = static_cast<const char *>(written.pointer);
        for (const Buffer &other : buffers_) {
            const auto *at = static_cast<const char *>(other.pointer);
            forbid_if(&other != &written && at < begin + written.bytes && begin < at + other.bytes,
                      written.name + " and " + other.name + " overlap");
        }
    }
}

double Pass::cost_ns() const {
    const double rate = number("flops_per_s", 0);
    if (rate == 0) return number(std::string("cost_ns.") + names_.pass, number("cost_ns", 20000));
    double multiplications = 0;
    for (const Part &part : parts(network_))
        if (part.matrix) multiplications += static_cast<double>(part.rows) * part.cols;
    const double steps = std::accumulate(batch_.lengths.begin(), batch_.lengths.end(), 0.0);
    return 2 * multiplications * steps / rate * 1e9;
}

void Pass::enqueue(const Faults &faults, Phase phase, std::function<void(const Turn &)> work) {
    check_overlaps();
    for (const Due &due : faults.due())
        check_damage(due, names_.function, buffers_);
    if (faults.has("uncapturable") && capturing(stream())) {
        spoil_capture(stream());
        throw Refusal{"EXECUTION_FAILED", "this call cannot be captured"};
    }
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::duration<double, std::micro>(number("enqueue_us", 0));
    while (std::chrono::steady_clock::now() < until) {
    }
    // A recorded pass runs as often as its graph is launched.
    const Occasion occasion{handle_, capturing(stream()), busy_beside(stream())};
    const bool waits = phase != kNothing && !occasion.recorded;
    const bool queued = emulator::enqueue(
        stream(), cost_ns(), number("cold_ns", 0),
        [pass = *this, due = faults.due(), does = std::move(work), occasion, waits] {
            pass.run(due, occasion, does);
            if (waits) done(pass.reserve_space_);
        });
    forbid_if(!queued, "the handle's stream does not exist");
    if (phase != kNothing) promise(reserve_space_, problem_, phase, !waits);
}

// What the call saw may have gone before its turn comes.
bool Pass::ready_to_run() const {
    for (const Buffer &buffer : buffers_)
        if (room(buffer.pointer) < buffer.bytes) {
            violation(names_.function, buffer.name + " was freed before the pass ran");
            return false;
        }
    if (dev_seq_lengths_ != nullptr &&
        std::memcmp(dev_seq_lengths_, batch_.lengths.data(),
                    batch_.lengths.size() * sizeof(std::int32_t)) != 0) {
        violation(names_.function, "devSeqLengths are not the lengths of xDesc");
        return false;
    }
    return true;
}

const Buffer *Pass::find(const char *name) const {
    const auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                    [&](const Buffer &buffer) { return buffer.name == name; });
    return found != buffers_.end() ? &*found : nullptr;
}

void Pass::run(const std::vector<Due> &due, const Occasion &occasion,
               const std::function<void(const Turn &)> &work) const {
    const auto is = [](const char *kind) {
        return [kind](const Due &d) { return d.kind == kind; };
    };
    if (std::any_of(due.begin(), due.end(), is("sticky"))) {
        stick(abi::kCudaIllegalAddress);
        return;
    }
    if (!ready_to_run()) return;
    Turn turn{setting("compute").value_or("on") == "on", {}};
    const Damage damage(due, buffers_);
    if (turn.compute) {
        const Buffer *x = find("x"), *workspace = find("workspace");
        turn.order = order_of(occasion, {x_, x != nullptr ? x->pointer : nullptr,
                                         workspace->pointer, workspace->bytes});
        std::memset(workspace->target(), kUsedByte, workspace->bytes);
    }
    work(turn);
    damage.inflict();
}

} // namespace emulator
