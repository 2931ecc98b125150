#include "rnn/weights.hpp"

#include "calls/values.hpp"
#include "rnn/fill.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace pyharness {

namespace {

constexpr int kProjection = 8; // lin_layer_id
constexpr double kBiasBound = 0.1;

// The gates in the order of lin_layer_id: first those on x, then those on h.
std::vector<const char *> gate_names(int cell_mode) {
    if (cell_mode == kLstm) return {"input", "forget", "cell", "output"};
    if (cell_mode == kGru) return {"reset", "update", "new"};
    return {"hidden"};
}

bool projects(const Settings &settings) { return settings.proj_size != settings.hidden_size; }

std::string part_name(const Settings &settings, int pseudo_layer, int lin_layer_id, bool matrix) {
    const auto gates = gate_names(settings.cell_mode);
    const int directions = settings.directions(), count = static_cast<int>(gates.size());
    std::string name = "l" + std::to_string(pseudo_layer / directions);
    name += pseudo_layer % directions == 0 ? ".forward." : ".reverse.";
    if (lin_layer_id == kProjection) name += "proj";
    else {
        name += gates[static_cast<std::size_t>(lin_layer_id % count)];
        name += lin_layer_id < count ? ".x" : ".h";
    }
    return name + (matrix ? ".matrix" : ".bias");
}

// Rows and columns of a part, which its descriptor has as [1, rows, columns].
bool shape_of(Calls &calls, abi::Descriptor descriptor, WeightPart &part) {
    std::array<int, 3> dims{}, strides{};
    int type = 0, nb_dims = 0;
    if (!PYHARNESS_CUDNN(calls, cudnnGetTensorNdDescriptor)(descriptor, 3, &type, &nb_dims,
                                                            dims.data(), strides.data()))
        return false;
    part.rows = dims[1];
    part.cols = dims[2];
    return true;
}

} // namespace

bool find_weights(Handle &handle, Descriptors &descriptors, const Settings &settings,
                  abi::CuPointer weights, std::size_t bytes, std::vector<WeightPart> &parts) {
    Calls &calls = handle.calls();
    if (!descriptors.make_parts()) return false;
    const int gates = static_cast<int>(gate_names(settings.cell_mode).size());
    const int ids = 2 * gates + (projects(settings) ? 1 : 0);
    const std::size_t element = element_bytes(settings.data_type);
    const int layers = clamp_int(std::int64_t{settings.num_layers} * settings.directions());
    for (int layer = 0; layer < layers; ++layer)
        for (int id = 0; id < ids; ++id) {
            void *matrix = nullptr, *bias = nullptr;
            if (!PYHARNESS_CUDNN(calls, cudnnGetRNNWeightParams)(
                    handle.get(), descriptors.rnn, layer, bytes,
                    reinterpret_cast<const void *>(weights), id, descriptors.matrix, &matrix,
                    descriptors.bias, &bias))
                return false;
            for (const bool is_matrix : {true, false}) {
                const auto address = reinterpret_cast<abi::CuPointer>(is_matrix ? matrix : bias);
                if (address == 0) continue; // the network has no such part
                WeightPart part{part_name(settings, layer, id, is_matrix),
                                layer,
                                id,
                                is_matrix,
                                0,
                                0,
                                address - weights};
                if (!shape_of(calls, is_matrix ? descriptors.matrix : descriptors.bias, part))
                    return false;
                // What is filled there would be filled over something else.
                if (part.offset > bytes || part.elements() > (bytes - part.offset) / element)
                    throw std::runtime_error("cudnnGetRNNWeightParams: " + part.name +
                                             " lies outside the weight space");
                parts.push_back(std::move(part));
            }
        }
    return true;
}

// So that neither depth nor length lets the numbers die or blow up, a layer should hand on the
// second moment m that it gets. With weights of variance g / fan_in, z = W x + R h has the second
// moment g_x m_x + g_h m_h, and in the steady state of small signals (gates near 1/2, tanh z near
// z)
//   rnn_relu  half of z is cut off:     m_h = (g_x m_x + g_h m_h) / 2         g_x = 1 with g_h = 1
//   rnn_tanh                            m_h = g_x m_x + g_h m_h             g_x = 1/2 with g_h =
//   1/2 lstm      c = c/2 + z/2, h = c/2:   m_h = (g_x m_x + g_h m_h) / 12       g_x = 11 with g_h
//   = 1 gru       h = h/2 + n/2, n = W x + R h / 2:
//                                       m_h = (g_x m_x + g_h m_h / 4) / 3  g_x = 11/4 with g_h = 1
// keep it; larger signals shrink in tanh, which only holds them. A projection of gain 1 keeps it
// too. rnn_relu holds nothing: a small R may by chance have an eigenvalue far above 1, which grows
// with every step, so that its fan_in counts as 64 at least; above, chance evens out.
double bound(const WeightPart &part, const Settings &settings) {
    if (!part.matrix) return kBiasBound;
    static constexpr double kInputGain[] = {1, 0.5, 11, 2.75}, kRecurrentGain[] = {1, 0.5, 1, 1};
    const auto cell = static_cast<std::size_t>(std::clamp(settings.cell_mode, 0, 3));
    const int gates = static_cast<int>(gate_names(settings.cell_mode).size());
    double gain = 1, fan_in = std::max(part.cols, 1);
    if (part.lin_layer_id < gates) gain = kInputGain[cell];
    else if (part.lin_layer_id != kProjection) {
        gain = kRecurrentGain[cell];
        if (settings.cell_mode == kRnnRelu) fan_in = std::max(fan_in, 64.0);
    }
    return std::sqrt(3 * gain / fan_in); // the variance of uniform numbers is bound² / 3
}

} // namespace pyharness
