// What a plan is made from: one problem as plain numbers, and how it is run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pyharness {

enum CellMode { kRnnRelu, kRnnTanh, kLstm, kGru };                       // cudnnRNNMode_t
enum DataType { kFloat = 0, kDouble = 1, kHalf = 2, kBfloat16 = 9 };     // cudnnDataType_t
enum Layout { kSeqMajorUnpacked, kSeqMajorPacked, kBatchMajorUnpacked }; // cudnnRNNDataLayout_t
constexpr int kPersistDynamic = 2;                                       // cudnnRNNAlgo_t
constexpr int kInference = 0, kTraining = 1;                             // cudnnForwardMode_t
constexpr int kBidirectional = 1;                                        // cudnnDirectionMode_t

enum class DevSeqLengths { kRule, kGiven, kNull }; // kRule: as the release documents it

struct Settings {
    // cudnnSetRNNDescriptor_v8; enumerators as integers, inside their enumeration or not
    int algo = 0, cell_mode = kLstm, bias_mode = 0, direction_mode = 0, input_mode = 0;
    int data_type = kFloat, math_prec = kFloat, math_type = 0;
    std::int32_t input_size = 1, hidden_size = 1, proj_size = 1, num_layers = 1;
    std::uint32_t aux_flags = 0;
    // cudnnRNNSetClip
    bool clip = false;
    int clip_mode = 0, clip_nan_opt = 0;
    double lclip = 0, rclip = 0;
    // cudnnSetRNNDataDescriptor
    int layout = 0, max_seq_length = 1, batch_size = 1;
    std::vector<int> seq_lengths;
    bool padding_fill = false;
    int x_vector_size = 1;
    // dropout and how it is run
    bool dropout = false; // a descriptor, even if nothing is dropped
    float dropout_rate = 0;
    DevSeqLengths dev_seq_lengths = DevSeqLengths::kRule;
    bool initial_states = true; // else hx and cx are null
    std::uint64_t seed = 0;
    std::size_t alignment = 0; // by which every buffer lies behind a multiple of 256 bytes

    int directions() const { return direction_mode == kBidirectional ? 2 : 1; }
    bool has_cell_state() const { return cell_mode == kLstm; }
};

} // namespace pyharness
