#include "network_pass.hpp"

#include "network_cell.hpp"

#include <algorithm>

namespace emulator {

namespace {

std::vector<double> copied(const double *values, std::size_t count) {
    return values ? std::vector<double>(values, values + count) : std::vector<double>(count);
}

// One pseudo-layer against its direction. `dh` [size, proj_size] and `dc` [size, hidden_size or
// none] are the gradients of the final states before and of the initial ones after; `doutputs` is
// [rows, proj_size × directions]. The gates in the tape become their deltas.
void run_steps(const NetworkPass &pass, int layer, int direction, const BackwardData &arrays,
               const std::vector<double> &doutputs, std::vector<double> &dh,
               std::vector<double> &dc) {
    const Network &network = pass.network;
    const std::size_t hidden = pass.hidden, proj = pass.proj;
    const int place = pass.pseudo_layer(layer, direction);
    const Layout &layout = pass.layout(place);
    const States h = pass.hidden_states(layer, direction, arrays.hx, arrays.tape);
    const States c = pass.cell_states(layer, direction, arrays.cx, arrays.tape);
    double *gates = arrays.tape + pass.tape.gates(place);
    double *deltas = arrays.tape + pass.tape.deltas(place);
    const std::size_t first = static_cast<std::size_t>(direction) * proj;
    for (int turn = pass.steps - 1; turn >= 0; --turn) {
        const int step = pass.step(turn, direction);
        const std::size_t begin = pass.rows.begin(step), count = pass.rows.end(step) - begin;
        std::vector<double> dstate(count * proj); // of what the step gave
        for (std::size_t i = 0; i < count; ++i) {
            const double *from_above = doutputs.data() + (begin + i) * pass.outputs + first;
            const double *from_later = dh.data() + pass.rows.sequence(begin + i) * proj;
            for (std::size_t j = 0; j < proj; ++j)
                dstate[i * proj + j] = from_above[j] + from_later[j];
        }
        std::vector<double> doutput;
        if (network.projects()) {
            std::copy(dstate.begin(), dstate.end(), deltas + begin * proj);
            doutput.assign(count * hidden, 0.0);
            pass.add(row_major(dstate.data(), count, proj, proj),
                     matrix(arrays.weights, layout.projection), doutput.data(), hidden, begin);
        } else doutput = dstate;
        std::fill(dstate.begin(), dstate.end(), 0.0); // from here of what it started from
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t row = begin + i;
            cell_backward(network, gates + row * pass.gates, h.before(row), c.before(row),
                          doutput.data() + i * hidden,
                          dc.data() + pass.rows.sequence(row) * pass.cell,
                          dstate.data() + i * proj);
        }
        pass.add(row_major(gates + begin * pass.gates + pass.recurrent, count, layout.h.rows,
                           pass.gates),
                 matrix(arrays.weights, layout.h), dstate.data(), proj, begin);
        for (std::size_t i = 0; i < count; ++i)
            std::copy_n(dstate.data() + i * proj, proj,
                        dh.data() + pass.rows.sequence(begin + i) * proj);
    }
}

// Adds what the deltas of one pseudo-layer give to the gradients of its inputs.
void add_input_gradients(const NetworkPass &pass, int layer, const Layout &layout,
                         const double *weights, const double *gates, std::vector<double> &dinputs) {
    const std::size_t side = pass.gates - pass.recurrent, in = pass.inputs(layer);
    if (layer == 0 && pass.network.skip_input)
        for (std::size_t row = 0; row < pass.rows.count(); ++row)
            for (std::size_t i = 0; i < side; ++i)
                dinputs[row * in + i % in] += gates[row * pass.gates + i];
    else
        pass.add(row_major(gates, pass.rows.count(), side, pass.gates), matrix(weights, layout.x),
                 dinputs.data(), in);
}

} // namespace

void backward_data(const Network &network, const Batch &batch, const BackwardData &arrays) {
    const NetworkPass pass(network, batch);
    std::vector<double> doutputs = arrays.dy ? gathered(pass.rows, arrays.dy, pass.outputs)
                                             : copied(nullptr, pass.rows.count() * pass.outputs);
    for (int layer = network.num_layers - 1; layer >= 0; --layer) {
        std::vector<double> dinputs(pass.rows.count() * pass.inputs(layer));
        for (int direction = 0; direction < network.directions; ++direction) {
            const int place = pass.pseudo_layer(layer, direction);
            std::vector<double> dh =
                copied(pass.state(arrays.dhy, place, pass.proj), pass.batch_size * pass.proj);
            std::vector<double> dc =
                copied(pass.state(arrays.dcy, place, pass.cell), pass.batch_size * pass.cell);
            run_steps(pass, layer, direction, arrays, doutputs, dh, dc);
            add_input_gradients(pass, layer, pass.layout(place), arrays.weights,
                                arrays.tape + pass.tape.gates(place), dinputs);
            if (arrays.dhx)
                std::copy(dh.begin(), dh.end(), pass.state(arrays.dhx, place, pass.proj));
            if (arrays.dcx)
                std::copy(dc.begin(), dc.end(), pass.state(arrays.dcx, place, pass.cell));
        }
        pass.drop(layer, arrays.mask, dinputs);
        doutputs.swap(dinputs);
    }
    if (arrays.dx) scatter(pass.rows, doutputs.data(), pass.inputs(0), arrays.dx);
}

} // namespace emulator
