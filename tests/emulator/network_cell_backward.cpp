#include "network_cell.hpp"

#include "network_lstm.hpp"

namespace emulator {

namespace {

// Derivatives by what a function gave, not by what it was given.
double of_sigmoid(double value) { return value * (1 - value); }
double of_tanh(double value) { return 1 - value * value; }
double of_relu(double value) { return value > 0 ? 1 : 0; }

void rnn(const Network &network, std::size_t n, double *gate, const double *doutput) {
    for (std::size_t i = 0; i < n; ++i)
        gate[i] = doutput[i] * (network.cell == kReluCell ? of_relu(gate[i]) : of_tanh(gate[i]));
}

void lstm(const Network &network, std::size_t n, double *gates, const double *c_before,
          const double *doutput, double *dc) {
    for (std::size_t i = 0; i < n; ++i) {
        double &input = gates[i], &forget = gates[n + i];
        double &cell = gates[2 * n + i], &out = gates[3 * n + i];
        const double sum = unclipped(input, forget, cell, c_before[i]);
        const double tanh_c = std::tanh(clipped(network, sum));
        const double reaching = dc[i] + doutput[i] * out * of_tanh(tanh_c);
        const double dsum = passes_clip(network, sum) ? reaching : 0;
        dc[i] = dsum * forget;
        out = doutput[i] * tanh_c * of_sigmoid(out);
        forget = dsum * c_before[i] * of_sigmoid(forget);
        const double dinput = dsum * cell * of_sigmoid(input);
        cell = dsum * input * of_tanh(cell);
        input = dinput;
    }
}

void gru(std::size_t n, double *gates, const double *h_before, const double *doutput,
         double *dh_before) {
    for (std::size_t i = 0; i < n; ++i) {
        double &fresh = gates[i], &reset = gates[n + i];
        double &update = gates[2 * n + i], &recurrent = gates[3 * n + i];
        dh_before[i] += doutput[i] * update;
        const double dfresh = doutput[i] * (1 - update) * of_tanh(fresh);
        const double dreset = dfresh * recurrent * of_sigmoid(reset);
        update = doutput[i] * (h_before[i] - fresh) * of_sigmoid(update);
        recurrent = dfresh * reset;
        reset = dreset;
        fresh = dfresh;
    }
}

} // namespace

void cell_backward(const Network &network, double *gates, const double *h_before,
                   const double *c_before, const double *doutput, double *dc, double *dh_before) {
    const auto n = static_cast<std::size_t>(network.hidden_size);
    switch (network.cell) {
    case kReluCell:
    case kTanhCell: rnn(network, n, gates, doutput); break;
    case kLstmCell: lstm(network, n, gates, c_before, doutput, dc); break;
    case kGruCell: gru(n, gates, h_before, doutput, dh_before); break;
    }
}

} // namespace emulator
