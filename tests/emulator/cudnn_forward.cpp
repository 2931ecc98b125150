// cudnnRNNForward and cudnnBuildRNNDynamic.
#include "cudnn_handle.hpp"
#include "cudnn_pass.hpp"
#include "cudnn_sequences.hpp"
#include "cudnn_wrong.hpp"

using namespace emulator;

namespace {

struct ForwardTensors {
    const void *x, *hx, *cx, *weights;
    void *y, *hy, *cy, *reserve_space;
};

// The pass itself. Without a reserve space it is inference.
void run_forward(const Pass &pass, const ForwardTensors &tensors, const Dropout &dropout,
                 const Turn &turn) {
    const Network &network = pass.network();
    Stamp stamp;
    stamp.problem = pass.problem();
    stamp.phase = kForwardDone;
    std::vector<double> factors;
    if (tensors.reserve_space != nullptr && dropout.rate > 0) {
        const auto drawn = draw(dropout);
        if (!drawn) {
            violation("cudnnRNNForward", "the dropout states were not set, or overwritten");
            return;
        }
        stamp.draw = *drawn;
        if (turn.compute) factors = mask(*drawn, network, pass.batch());
    }
    if (turn.compute) {
        const auto x = read_x(pass, tensors.x);
        auto hx = read_state(pass, network.proj_size, tensors.hx);
        auto cx = read_state(pass, network.hidden_size, tensors.cx);
        const auto weights = read_weights(pass, tensors.weights);
        stamp.x = digest(x);
        stamp.hx = digest(hx);
        stamp.cx = digest(cx);
        stamp.weights = digest(weights);
        begin_in_padding(pass, tensors.x, weights, hx, cx);
        Batch batch = pass.batch();
        batch.order = turn.order;
        std::vector<double> y(x.size() / static_cast<std::size_t>(pass.x().vector_size) *
                              static_cast<std::size_t>(pass.y().vector_size));
        std::vector<double> hy(pass.state_elements(network.proj_size));
        std::vector<double> cy(pass.state_elements(network.hidden_size));
        const auto given = [](const std::vector<double> &values) {
            return values.empty() ? nullptr : values.data();
        };
        forward(network, batch,
                {weights.data(), x.data(), given(hx), given(cx), given(factors), y.data(),
                 hy.data(), pass.lstm() ? cy.data() : nullptr,
                 tensors.reserve_space != nullptr ? tape_of(tensors.reserve_space) : nullptr});
        spoil_y(pass, y);
        spoil_output(pass, hy);
        spoil_output(pass, cy);
        scatter(pass.y(), y, tensors.y);
        if (!wrong("padding_unwritten")) fill_padding(pass.y(), tensors.y);
        pass.store_state(hy, tensors.hy);
        pass.store_state(cy, tensors.cy);
    }
    if (tensors.reserve_space != nullptr) write_stamp(tensors.reserve_space, stamp);
}

} // namespace

abi::Status cudnnBuildRNNDynamic(abi::Handle handle, abi::Descriptor rnn, int batch_size) {
    return call("cudnnBuildRNNDynamic", [&](const Faults &) {
        state_of(handle);
        const RnnDescriptor read = read_rnn(rnn);
        constexpr abi::Enum kPersistDynamic = 2;
        refuse_if(read.algo != kPersistDynamic, "BAD_PARAM",
                  "algo != CUDNN_RNN_ALGO_PERSIST_DYNAMIC");
        refuse_if(batch_size < 1, "BAD_PARAM", "miniBatch < 1");
        refuse_if(read.directions() == 2, "NOT_SUPPORTED", "a persistent algo has one direction");
        rnn_uses().change(
            rnn, [&](RnnUse &use) { use.built = read.key() + std::to_string(batch_size); });
    });
}

abi::Status cudnnRNNForward(abi::Handle handle, abi::Descriptor rnn, abi::Enum forward_mode,
                            const std::int32_t *dev_seq_lengths, abi::Descriptor x_desc,
                            const void *x, abi::Descriptor y_desc, void *y, abi::Descriptor h_desc,
                            const void *hx, void *hy, abi::Descriptor c_desc, const void *cx,
                            void *cy, std::size_t weight_space_bytes, const void *weight_space,
                            std::size_t workspace_bytes, void *workspace,
                            std::size_t reserve_space_bytes, void *reserve_space) {
    return call("cudnnRNNForward", [&](const Faults &faults) {
        refuse_if(forward_mode != 0 && forward_mode != 1, "BAD_PARAM",
                  "fwdMode is no forward mode");
        const bool training = forward_mode == 1;
        Pass pass({"cudnnRNNForward", training ? "forward_training" : "forward_inference", training,
                   false},
                  {handle, rnn, x_desc, y_desc, dev_seq_lengths});
        const Network &network = pass.network();
        pass.state_shape("hDesc", h_desc, network.proj_size, hx != nullptr || hy != nullptr);
        if (pass.lstm())
            pass.state_shape("cDesc", c_desc, network.hidden_size, cx != nullptr || cy != nullptr);
        else cx = cy = nullptr;
        pass.sequences("x", pass.x(), x, false);
        pass.sequences("y", pass.y(), y, true);
        pass.state("hx", network.proj_size, hx, false);
        pass.state("hy", network.proj_size, hy, true);
        pass.state("cx", network.hidden_size, cx, false);
        pass.state("cy", network.hidden_size, cy, true);
        pass.weights("weight_space", weight_space_bytes, weight_space, false);
        pass.spaces(workspace_bytes, workspace, reserve_space_bytes, reserve_space);
        Dropout dropout;
        if (training) {
            dropout = read_dropout(pass.rnn().dropout);
            if (dropout.rate > 0) pass.dropout_states(dropout.states, dropout_states_bytes());
        }
        const ForwardTensors tensors{x, hx, cx, weight_space,
                                     y, hy, cy, training ? reserve_space : nullptr};
        pass.enqueue(faults, training ? kForwardDone : kNothing,
                     [=](const Turn &turn) { run_forward(pass, tensors, dropout, turn); });
    });
}
