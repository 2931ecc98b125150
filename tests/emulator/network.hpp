// A recurrent network in float64, forward and backward, as plain arrays: no descriptors, no data
// types, no layouts. The other half of the emulated libcudnn turns its arguments into these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulator {

enum Cell { kReluCell, kTanhCell, kLstmCell, kGruCell };                    // cudnnRNNMode_t
enum Bias { kNoBias, kSingleInputBias, kDoubleBias, kSingleRecurrentBias }; // cudnnRNNBiasMode_t

struct Network {
    Cell cell = kLstmCell;
    Bias bias = kDoubleBias;
    int directions = 1;
    bool skip_input = false; // x goes into the gates of the first layer without a matrix
    int input_size = 1;
    int hidden_size = 1;
    int proj_size = 1; // = hidden_size: no projection
    int num_layers = 1;
    bool clips = false;               // the cell state of an LSTM, after each step
    bool clip_propagates_nan = false; // else NaN becomes lclip
    double lclip = 0, rclip = 0;

    bool projects() const { return proj_size != hidden_size; }
    int gates() const { return cell == kLstmCell ? 4 : cell == kGruCell ? 3 : 1; }
    int pseudo_layers() const { return num_layers * directions; }
    int layer_input(int layer) const { return layer == 0 ? input_size : proj_size * directions; }
};

// In which order the matrix products are summed, where that is a planted fault: one for each key.
struct Order {
    std::vector<std::uint64_t> keys; // by sequence; 0: as it comes
    bool in_float = false;           // else in double
};

struct Batch {
    int steps = 0;            // max_seq_length
    int size = 0;             // batch_size
    std::vector<int> lengths; // size entries, 0 … steps
    Order order{};            // no keys: no such fault
};

// One matrix or bias of the weights. Gates in the order of lin_layer_id: LSTM input, forget, cell,
// output (0-3 on x, 4-7 on h, 8 the projection); GRU reset, update, new (0-2, 3-5); RNN 0, 1.
struct Part {
    int pseudo_layer;
    int lin_layer_id;
    bool matrix;        // else a bias
    int rows, cols;     // a bias has one column; 0 rows: the network has no such part
    std::size_t offset; // elements from the start of the weights
};

// Every lin_layer_id of every pseudo-layer, matrix then bias, those that do not exist with 0 rows.
std::vector<Part> parts(const Network &network);
std::size_t weight_count(const Network &network);

// What a forward pass of training keeps for the backward passes, and backward_data for
// backward_weights: so many doubles, whatever the lengths. It need not be zero before.
std::size_t tape_count(const Network &network, const Batch &batch);

// Arrays, row-major: x [steps, size, input_size], y [steps, size, proj_size × directions],
// hx, hy [pseudo_layers, size, proj_size], cx, cy [pseudo_layers, size, hidden_size]. Null hx, cx
// and incoming gradients are zeros; null outputs are not wanted. Steps past a sequence's end are
// neither read nor written. `mask` holds the dropout factors (0 or 1 / (1 - rate)) of the inputs
// of layers 1 …, [num_layers - 1, steps, size, proj_size × directions]; null: no dropout.
struct Forward {
    const double *weights, *x, *hx, *cx, *mask;
    double *y, *hy, *cy, *tape; // tape null: inference
};
void forward(const Network &network, const Batch &batch, const Forward &arrays);

struct BackwardData {
    const double *weights, *hx, *cx, *mask;
    const double *dy, *dhy, *dcy;
    double *dx, *dhx, *dcx;
    double *tape; // of the forward pass, used up; holds the deltas for backward_weights after
};
void backward_data(const Network &network, const Batch &batch, const BackwardData &arrays);

struct BackwardWeights {
    const double *x, *hx, *mask;
    const double *tape; // of the backward data pass
    double *dweights;   // added to
};
void backward_weights(const Network &network, const Batch &batch, const BackwardWeights &arrays);

} // namespace emulator
