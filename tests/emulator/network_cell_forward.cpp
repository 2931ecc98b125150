#include "network_cell.hpp"

#include "network_lstm.hpp"

namespace emulator {

namespace {

double sigmoid(double sum) { return 1 / (1 + std::exp(-sum)); }

void rnn(const Network &network, std::size_t n, double *gate, double *output) {
    for (std::size_t i = 0; i < n; ++i) {
        // Written so that NaN stays.
        const double relu = gate[i] < 0 ? 0 : gate[i];
        output[i] = gate[i] = network.cell == kReluCell ? relu : std::tanh(gate[i]);
    }
}

void lstm(const Network &network, std::size_t n, double *gates, const double *c_before, double *c,
          double *output) {
    double *input = gates, *forget = gates + n, *cell = gates + 2 * n, *out = gates + 3 * n;
    for (std::size_t i = 0; i < n; ++i) {
        input[i] = sigmoid(input[i]);
        forget[i] = sigmoid(forget[i]);
        cell[i] = std::tanh(cell[i]);
        out[i] = sigmoid(out[i]);
        c[i] = clipped(network, unclipped(input[i], forget[i], cell[i], c_before[i]));
        output[i] = out[i] * std::tanh(c[i]);
    }
}

void gru(std::size_t n, double *gates, const double *h_before, double *output) {
    double *fresh = gates, *reset = gates + n, *update = gates + 2 * n;
    const double *recurrent = gates + 3 * n; // with its bias inside the product with the reset gate
    for (std::size_t i = 0; i < n; ++i) {
        reset[i] = sigmoid(reset[i]);
        update[i] = sigmoid(update[i]);
        fresh[i] = std::tanh(fresh[i] + reset[i] * recurrent[i]);
        output[i] = (1 - update[i]) * fresh[i] + update[i] * h_before[i];
    }
}

} // namespace

void cell_forward(const Network &network, double *gates, const double *h_before,
                  const double *c_before, double *c, double *output) {
    const auto n = static_cast<std::size_t>(network.hidden_size);
    switch (network.cell) {
    case kReluCell:
    case kTanhCell: rnn(network, n, gates, output); break;
    case kLstmCell: lstm(network, n, gates, c_before, c, output); break;
    case kGruCell: gru(n, gates, h_before, output); break;
    }
}

} // namespace emulator
