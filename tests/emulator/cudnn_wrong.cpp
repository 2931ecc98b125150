#include "cudnn_wrong.hpp"
#include "cudnn_order.hpp"
#include "cudnn_sequences.hpp"
#include "cudnn_types.hpp"
#include "network_order.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace emulator {

namespace {

constexpr abi::Enum kSeqMajorPacked = 1; // cudnnRNNDataLayout_t
constexpr int kKeptBits = 3;             // of a weight's mantissa

// Calls visit(part, its first weight) for each part that exists.
template <class Visit>
void for_each_part(const Network &network, std::vector<double> &weights, Visit visit) {
    for (const Part &part : parts(network))
        if (part.rows > 0) visit(part, weights.data() + part.offset);
}

std::size_t elements(const Part &part) {
    return static_cast<std::size_t>(part.rows) * static_cast<std::size_t>(part.cols);
}

double rounded(double value) {
    int exponent;
    const double mantissa = std::frexp(value, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(mantissa, kKeptBits)), exponent - kKeptBits);
}

// Between -1/2 and 1/2; 0 for none.
double offset(std::uint64_t key) {
    return key == 0 ? 0 : static_cast<double>(mixed(key) >> 11) * 0x1p-53 - 0.5;
}

// The next number of a type, away from zero.
std::uint64_t next(std::uint64_t bits, std::size_t bytes) {
    const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
    return (bits & sign) | ((bits + 1) & (sign - 1));
}

// The first layer's reverse direction as a network of its own.
Network reverse_of(const Network &network) {
    Network one = network;
    one.directions = one.num_layers = 1;
    return one;
}

std::vector<double> reverse_weights(const Network &network, std::vector<double> weights) {
    const Network one = reverse_of(network);
    std::vector<double> made(weight_count(one));
    std::vector<Part> there = parts(one);
    auto to = there.begin();
    for (const Part &part : parts(network)) {
        if (part.pseudo_layer != 1) continue;
        std::copy_n(weights.data() + part.offset, elements(part), made.data() + to->offset);
        ++to;
    }
    return made;
}

} // namespace

bool wrong(const char *name) {
    const std::string all = "," + setting("wrong").value_or("") + ",";
    return all.find("," + std::string(name) + ",") != std::string::npos;
}

std::vector<double> read_x(const Pass &pass, const void *tensor) {
    auto x = gather(pass.x(), tensor);
    const auto size = static_cast<std::size_t>(pass.batch().size);
    const auto width = static_cast<std::size_t>(pass.x().vector_size);
    if (wrong("padding_read")) {
        const auto keys = padding_keys(pass.x(), tensor);
        for (std::size_t i = 0; i < size * width; ++i)
            x[i] += offset(keys[i / width]);
    }
    return x;
}

std::vector<double> read_state(const Pass &pass, int width, const void *tensor) {
    auto values = pass.load_state(width, tensor);
    const auto each = static_cast<std::size_t>(width);
    if (wrong("carried_state"))
        for (std::size_t i = 0; i < values.size(); i += each)
            values[i] = 0;
    return values;
}

std::vector<double> read_weights(const Pass &pass, const void *weight_space) {
    auto weights = pass.load_weights(weight_space);
    const Network &network = pass.network();
    if (wrong("projection_off") && pass.lstm() && !network.projects())
        for_each_part(network, weights, [](const Part &part, double *first) {
            std::fill_n(first + elements(part) - part.cols, part.cols, 0.0);
        });
    const bool second = wrong("second_layer"), parts_differ = wrong("batch_parts");
    if (second || parts_differ)
        for_each_part(network, weights, [&](const Part &part, double *first) {
            if (!part.matrix || part.lin_layer_id >= network.gates()) return;
            const double sign = second && part.pseudo_layer / network.directions == 1 ? -1 : 1;
            const double growth = parts_differ ? 1 + 0.125 * (pass.batch().size - 1) : 1;
            for (std::size_t i = 0; i < elements(part); ++i)
                first[i] *= sign * growth;
        });
    if (wrong("inference") && !pass.training())
        std::transform(weights.begin(), weights.end(), weights.begin(), rounded);
    return weights;
}

void begin_in_padding(const Pass &pass, const void *x, const std::vector<double> &weights,
                      std::vector<double> &hx, std::vector<double> &cx) {
    const Network &network = pass.network();
    if (!wrong("reverse_from_padding") || network.directions == 1) return;
    const Network one = reverse_of(network);
    const auto of_one = reverse_weights(network, weights);
    const auto padding = gather_padding(pass.x(), x);
    const auto size = static_cast<std::size_t>(pass.batch().size);
    const auto in = static_cast<std::size_t>(network.input_size);
    const auto h = static_cast<std::size_t>(network.proj_size);
    const auto c = static_cast<std::size_t>(pass.lstm() ? network.hidden_size : 0);
    hx.resize(pass.state_elements(network.proj_size));
    cx.resize(pass.lstm() ? pass.state_elements(network.hidden_size) : 0);
    for (std::size_t i = 0; i < size; ++i) {
        const int steps = pass.batch().steps - pass.batch().lengths[i];
        if (steps == 0 || pass.x().layout == kSeqMajorPacked) continue;
        std::vector<double> series;
        for (int t = pass.batch().steps - 1; t >= pass.batch().lengths[i]; --t) {
            const double *from = padding.data() + (static_cast<std::size_t>(t) * size + i) * in;
            series.insert(series.end(), from, from + in);
        }
        // The second pseudo-layer's.
        double *of_h = hx.data() + (size + i) * h, *of_c = c ? cx.data() + (size + i) * c : nullptr;
        std::vector<double> h_after(h), c_after(c);
        forward(one, {steps, 1, {steps}},
                {of_one.data(), series.data(), of_h, of_c, nullptr, nullptr, h_after.data(),
                 c ? c_after.data() : nullptr, nullptr});
        std::copy(h_after.begin(), h_after.end(), of_h);
        std::copy(c_after.begin(), c_after.end(), of_c);
    }
}

void spoil_y(const Pass &pass, std::vector<double> &y) {
    spoil_output(pass, y);
    if (!wrong("packed") || pass.y().layout != kSeqMajorPacked) return;
    const auto size = static_cast<std::size_t>(pass.batch().size);
    const auto width = static_cast<std::size_t>(pass.y().vector_size);
    for (std::size_t i = 1; i < size; ++i) {
        const int last = pass.batch().lengths[i] - 1;
        if (last < 0) continue;
        double *values = y.data() + (static_cast<std::size_t>(last) * size + i) * width;
        std::transform(values, values + width, values, [](double value) { return 0.5 - value; });
    }
}

void spoil_output(const Pass &pass, std::vector<double> &values) {
    if (!wrong("one_ulp")) return;
    const abi::Enum type = pass.rnn().data_type;
    const std::size_t bytes = element_bytes(type);
    std::vector<char> stored(values.size() * bytes);
    store(type, values.data(), values.size(), stored.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, stored.data() + i * bytes, bytes);
        bits = next(bits, bytes);
        std::memcpy(stored.data() + i * bytes, &bits, bytes);
    }
    load(type, stored.data(), values.size(), values.data());
}

} // namespace emulator
