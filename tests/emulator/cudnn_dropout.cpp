#include "cudnn_dropout.hpp"
#include "cudnn_call.hpp"
#include "cudnn_handle.hpp"
#include "cudnn_wrong.hpp"
#include "network_order.hpp"

#include <cstring>

namespace emulator {

namespace {

constexpr std::uint64_t kMark = 0x5eed0d20b0075eedULL;

struct States {
    std::uint64_t mark, seed, passes;
};

} // namespace

std::size_t dropout_states_bytes() {
    return static_cast<std::size_t>(number("multiprocessors", 108)) * 8192;
}

std::optional<Draw> draw(const Dropout &dropout) {
    States states;
    std::memcpy(&states, dropout.states, sizeof(states));
    if (states.mark != kMark) return std::nullopt;
    const Draw made{states.seed, states.passes++, dropout.rate};
    std::memcpy(dropout.states, &states, sizeof(states));
    return made;
}

std::vector<double> mask(const Draw &draw, const Network &network, const Batch &batch) {
    if (draw.rate == 0 || network.num_layers == 1) return {};
    std::vector<double> made(
        static_cast<std::size_t>(network.num_layers - 1) * static_cast<std::size_t>(batch.steps) *
        static_cast<std::size_t>(batch.size) * static_cast<std::size_t>(network.layer_input(1)));
    const std::uint64_t key = mixed(mixed(draw.seed) ^ draw.pass);
    for (std::size_t i = 0; i < made.size(); ++i) {
        const double uniform = static_cast<double>(mixed(key ^ mixed(i)) >> 11) * 0x1p-53;
        made[i] = uniform < draw.rate ? 0 : 1 / (1 - draw.rate);
    }
    return made;
}

} // namespace emulator

using namespace emulator;

abi::Status cudnnDropoutGetStatesSize(abi::Handle handle, std::size_t *bytes) {
    return call("cudnnDropoutGetStatesSize", [&](const Faults &) {
        state_of(handle);
        refuse_if(bytes == nullptr, "BAD_PARAM", "sizeInBytes == NULL");
        *bytes = dropout_states_bytes();
    });
}

abi::Status cudnnSetDropoutDescriptor(abi::Descriptor dropout, abi::Handle handle, float rate,
                                      void *states, std::size_t states_bytes,
                                      unsigned long long seed) {
    return call("cudnnSetDropoutDescriptor", [&](const Faults &) {
        const HandleState &state = state_of(handle);
        refuse_if(dropout == nullptr, "BAD_PARAM", "dropoutDesc == NULL");
        forbid_if(!exists(kDropoutKind, dropout), "this is no dropout descriptor, or destroyed");
        refuse_if(!(rate >= 0 && rate <= 1), "BAD_PARAM", "dropout < 0 || dropout > 1");
        refuse_if(states == nullptr && rate > 0, "BAD_PARAM", "states == NULL");
        if (states != nullptr) {
            if (states_bytes < dropout_states_bytes())
                throw Refusal{"INVALID_VALUE", "the states need more bytes than were given", true};
            forbid_if(room(states) < states_bytes, "no allocation covers the states");
            const bool stale = wrong("stale_dropout") && dropouts().get(dropout).states == states;
            const bool queued = enqueue(state.stream, 0, 0, [states, states_bytes, seed, stale] {
                if (room(states) < states_bytes) {
                    violation("cudnnSetDropoutDescriptor",
                              "the states were freed before they were written");
                    return;
                }
                const States fresh{kMark, seed, 0};
                if (!stale) std::memcpy(states, &fresh, sizeof(fresh));
            });
            forbid_if(!queued, "the handle's stream does not exist");
        }
        dropouts().change(dropout, [&](Dropout &set) { set = {rate, states}; });
    });
}
