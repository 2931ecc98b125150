#include "network_pass.hpp"

#include "network_order.hpp"

#include <numeric>

namespace emulator {

NetworkPass::NetworkPass(const Network &of, const Batch &batch)
    : network(of), order(batch.order), rows(batch), tape(of, batch), layouts(emulator::layouts(of)),
      steps(batch.steps), batch_size(static_cast<std::size_t>(batch.size)),
      hidden(static_cast<std::size_t>(of.hidden_size)),
      proj(static_cast<std::size_t>(of.proj_size)), cell(of.cell == kLstmCell ? hidden : 0),
      outputs(proj * static_cast<std::size_t>(of.directions)),
      gates(hidden * static_cast<std::size_t>(slots(of))),
      recurrent(hidden * static_cast<std::size_t>(first_recurrent_slot(of))) {}

States NetworkPass::hidden_states(int layer, int direction, const double *hx,
                                  const double *values) const {
    return {rows,
            direction,
            state(hx, pseudo_layer(layer, direction), proj),
            values + tape.outputs(layer) + static_cast<std::size_t>(direction) * proj,
            proj,
            outputs};
}

States NetworkPass::cell_states(int layer, int direction, const double *cx,
                                const double *values) const {
    const int place = pseudo_layer(layer, direction);
    return {rows, direction, state(cx, place, cell), values + tape.cells(place), cell, cell};
}

void NetworkPass::add(const View &a, const View &b, double *c, std::size_t c_stride,
                      std::size_t first) const {
    if (order.keys.empty()) return add_product(a, b, c, c_stride);
    for (std::size_t row = 0; row < a.rows; ++row)
        add_product_in_order(a.row(row), b, order.keys[rows.sequence(first + row)], order.in_float,
                             c + row * c_stride, c_stride);
}

void NetworkPass::add_over_rows(const View &a, const View &b, double *c,
                                std::size_t c_stride) const {
    if (order.keys.empty()) return add_product(a.transposed(), b, c, c_stride);
    const std::uint64_t key =
        std::accumulate(order.keys.begin(), order.keys.end(), std::uint64_t{0});
    add_product_in_order(a.transposed(), b, key, order.in_float, c, c_stride);
}

void NetworkPass::drop(int layer, const double *mask, std::vector<double> &inputs) const {
    if (!mask || layer == 0) return;
    const double *factors = mask + static_cast<std::size_t>(layer - 1) *
                                       static_cast<std::size_t>(steps) * batch_size * outputs;
    for (std::size_t row = 0; row < rows.count(); ++row)
        for (std::size_t i = 0; i < outputs; ++i)
            inputs[row * outputs + i] *= factors[rows.place(row) * outputs + i];
}

std::vector<double> NetworkPass::layer_inputs(int layer, const double *x, const double *mask,
                                              const double *values) const {
    if (layer == 0) return gathered(rows, x, inputs(0));
    const double *below = values + tape.outputs(layer - 1);
    std::vector<double> found(below, below + rows.count() * outputs);
    drop(layer, mask, found);
    return found;
}

} // namespace emulator
