#include "network_pass.hpp"

#include "network_cell.hpp"

#include <algorithm>

namespace emulator {

namespace {

// What does not depend on h, for all steps at once.
void start_gates(const NetworkPass &pass, int layer, const Layout &layout, const double *weights,
                 const std::vector<double> &inputs, double *gates) {
    const std::size_t width = pass.gates, side = width - pass.recurrent;
    std::fill_n(gates, pass.rows.count() * width, 0.0);
    for (std::size_t row = 0; row < pass.rows.count(); ++row) {
        double *sums = gates + row * width;
        for (std::size_t i = 0; i < layout.x_bias.rows; ++i)
            sums[i] += weights[layout.x_bias.offset + i];
        for (std::size_t i = 0; i < layout.h_bias.rows; ++i)
            sums[pass.recurrent + i] += weights[layout.h_bias.offset + i];
        if (layer == 0 && pass.network.skip_input)
            for (std::size_t i = 0; i < side; ++i)
                sums[i] += inputs[row * pass.hidden + i % pass.hidden];
    }
    const std::size_t in = pass.inputs(layer);
    pass.add(row_major(inputs.data(), pass.rows.count(), in, in),
             matrix(weights, layout.x).transposed(), gates, width);
}

void run_steps(const NetworkPass &pass, int layer, int direction, const Forward &arrays,
               double *tape) {
    const Network &network = pass.network;
    const int place = pass.pseudo_layer(layer, direction);
    const Layout &layout = pass.layout(place);
    const States h = pass.hidden_states(layer, direction, arrays.hx, tape);
    const States c = pass.cell_states(layer, direction, arrays.cx, tape);
    double *gates = tape + pass.tape.gates(place);
    double *cells = tape + pass.tape.cells(place);
    double *projected = tape + pass.tape.projected(place);
    double *outputs =
        tape + pass.tape.outputs(layer) + static_cast<std::size_t>(direction) * pass.proj;
    for (int turn = 0; turn < pass.steps; ++turn) {
        const int step = pass.step(turn, direction);
        const std::size_t begin = pass.rows.begin(step), end = pass.rows.end(step);
        const std::vector<double> before = h.before(begin, end);
        pass.add(row_major(before.data(), end - begin, pass.proj, pass.proj),
                 matrix(arrays.weights, layout.h).transposed(),
                 gates + begin * pass.gates + pass.recurrent, pass.gates, begin);
        for (std::size_t row = begin; row < end; ++row) {
            double *output = outputs + row * pass.outputs;
            cell_forward(network, gates + row * pass.gates, h.before(row), c.before(row),
                         cells + row * pass.cell,
                         network.projects() ? projected + row * pass.hidden : output);
            if (network.projects()) std::fill_n(output, pass.proj, 0.0);
        }
        if (network.projects())
            pass.add(
                row_major(projected + begin * pass.hidden, end - begin, pass.hidden, pass.hidden),
                matrix(arrays.weights, layout.projection).transposed(),
                outputs + begin * pass.outputs, pass.outputs, begin);
    }
}

void give_states(const NetworkPass &pass, const States &states, std::size_t width, double *final) {
    if (!final) return;
    for (std::size_t sequence = 0; sequence < pass.batch_size; ++sequence)
        std::copy_n(states.last(sequence), width, final + sequence * width);
}

} // namespace

void forward(const Network &network, const Batch &batch, const Forward &arrays) {
    const NetworkPass pass(network, batch);
    std::vector<double> own(arrays.tape ? 0 : pass.tape.count());
    double *tape = arrays.tape ? arrays.tape : own.data();
    for (int layer = 0; layer < network.num_layers; ++layer) {
        const std::vector<double> inputs = pass.layer_inputs(layer, arrays.x, arrays.mask, tape);
        for (int direction = 0; direction < network.directions; ++direction) {
            const int place = pass.pseudo_layer(layer, direction);
            start_gates(pass, layer, pass.layout(place), arrays.weights, inputs,
                        tape + pass.tape.gates(place));
            run_steps(pass, layer, direction, arrays, tape);
            give_states(pass, pass.hidden_states(layer, direction, arrays.hx, tape), pass.proj,
                        pass.state(arrays.hy, place, pass.proj));
            give_states(pass, pass.cell_states(layer, direction, arrays.cx, tape), pass.cell,
                        pass.state(arrays.cy, place, pass.cell));
        }
    }
    if (arrays.y)
        scatter(pass.rows, tape + pass.tape.outputs(network.num_layers - 1), pass.outputs,
                arrays.y);
}

} // namespace emulator
