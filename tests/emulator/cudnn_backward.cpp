// cudnnRNNBackwardData_v8 and cudnnRNNBackwardWeights_v8.
#include "cudnn_pass.hpp"
#include "cudnn_sequences.hpp"
#include "cudnn_types.hpp"
#include "cudnn_wrong.hpp"

using namespace emulator;

namespace {

constexpr const char *kData = "cudnnRNNBackwardData_v8";
constexpr const char *kWeights = "cudnnRNNBackwardWeights_v8";

const double *given(const std::vector<double> &values) {
    return values.empty() ? nullptr : values.data();
}

// What is in the reserve space when the pass has its turn; nothing, and a broken rule, if it does
// not fit.
std::optional<Stamp> find_stamp(const char *function, const Pass &pass, const void *reserve_space,
                                Phase phase) {
    const Stamp stamp = read_stamp(reserve_space);
    const std::string what = unfit(stamp, pass.problem(), phase);
    if (what.empty()) return stamp;
    violation(function, what);
    return std::nullopt;
}

// Reports values that are not those of the forward pass.
void compare(const char *function, const char *name, std::uint64_t then,
             const std::vector<double> &now) {
    if (then != digest(now))
        violation(function, std::string(name) + " is not what the forward pass read");
}

struct DataTensors {
    const void *dy, *hx, *dhy, *cx, *dcy, *weights;
    void *dx, *dhx, *dcx, *reserve_space;
};

void run_data(const Pass &pass, const DataTensors &tensors, const Turn &turn) {
    auto stamp = find_stamp(kData, pass, tensors.reserve_space, kForwardDone);
    if (!stamp) return;
    const Network &network = pass.network();
    // Nothing to go back from where the forward pass calculated nothing.
    if (turn.compute && stamp->weights != 0) {
        const auto weights = read_weights(pass, tensors.weights);
        const auto hx = read_state(pass, network.proj_size, tensors.hx);
        const auto cx = read_state(pass, network.hidden_size, tensors.cx);
        compare(kData, "the weight space", stamp->weights, weights);
        compare(kData, "hx", stamp->hx, hx);
        compare(kData, "cx", stamp->cx, cx);
        const auto dy = gather(pass.y(), tensors.dy);
        const auto dhy = pass.load_state(network.proj_size, tensors.dhy);
        const auto dcy = pass.load_state(network.hidden_size, tensors.dcy);
        const auto factors = mask(stamp->draw, network, pass.batch());
        std::vector<double> dx(dy.size() / static_cast<std::size_t>(pass.y().vector_size) *
                               static_cast<std::size_t>(pass.x().vector_size));
        std::vector<double> dhx(pass.state_elements(network.proj_size));
        std::vector<double> dcx(pass.state_elements(network.hidden_size));
        Batch batch = pass.batch();
        batch.order = turn.order;
        backward_data(network, batch,
                      {weights.data(), given(hx), given(cx), given(factors), dy.data(), given(dhy),
                       given(dcy), dx.data(), dhx.data(), pass.lstm() ? dcx.data() : nullptr,
                       tape_of(tensors.reserve_space)});
        scatter(pass.x(), dx, tensors.dx);
        pass.store_state(dhx, tensors.dhx);
        pass.store_state(dcx, tensors.dcx);
    }
    stamp->phase = kDataDone;
    write_stamp(tensors.reserve_space, *stamp);
}

struct WeightTensors {
    const void *x, *hx;
    void *dweights, *reserve_space;
};

void run_weights(const Pass &pass, const WeightTensors &tensors, const Turn &turn) {
    const auto stamp = find_stamp(kWeights, pass, tensors.reserve_space, kDataDone);
    if (!stamp || !turn.compute || stamp->weights == 0) return;
    const Network &network = pass.network();
    const auto x = read_x(pass, tensors.x);
    const auto hx = read_state(pass, network.proj_size, tensors.hx);
    compare(kWeights, "x", stamp->x, x);
    compare(kWeights, "hx", stamp->hx, hx);
    const auto factors = mask(stamp->draw, network, pass.batch());
    auto dweights = pass.load_weights(tensors.dweights);
    Batch batch = pass.batch();
    batch.order = turn.order;
    backward_weights(
        network, batch,
        {x.data(), given(hx), given(factors), tape_of(tensors.reserve_space), dweights.data()});
    store(pass.rnn().data_type, dweights.data(), dweights.size(), tensors.dweights);
}

} // namespace

abi::Status cudnnRNNBackwardData_v8(abi::Handle handle, abi::Descriptor rnn,
                                    const std::int32_t *dev_seq_lengths, abi::Descriptor y_desc,
                                    const void *y, const void *dy, abi::Descriptor x_desc, void *dx,
                                    abi::Descriptor h_desc, const void *hx, const void *dhy,
                                    void *dhx, abi::Descriptor c_desc, const void *cx,
                                    const void *dcy, void *dcx, std::size_t weight_space_bytes,
                                    const void *weight_space, std::size_t workspace_bytes,
                                    void *workspace, std::size_t reserve_space_bytes,
                                    void *reserve_space) {
    return call(kData, [&](const Faults &faults) {
        Pass pass({kData, "backward_data", true, true},
                  {handle, rnn, x_desc, y_desc, dev_seq_lengths});
        const Network &network = pass.network();
        const int h = network.proj_size, c = network.hidden_size;
        pass.state_shape("hDesc", h_desc, h, hx != nullptr || dhy != nullptr || dhx != nullptr);
        if (pass.lstm())
            pass.state_shape("cDesc", c_desc, c, cx != nullptr || dcy != nullptr || dcx != nullptr);
        else cx = dcy = dcx = nullptr;
        pass.sequences("y", pass.y(), y, false);
        pass.sequences("dy", pass.y(), dy, false);
        pass.sequences("dx", pass.x(), dx, true);
        pass.state("hx", h, hx, false);
        pass.state("dhy", h, dhy, false);
        pass.state("dhx", h, dhx, true);
        pass.state("cx", c, cx, false);
        pass.state("dcy", c, dcy, false);
        pass.state("dcx", c, dcx, true);
        pass.weights("weight_space", weight_space_bytes, weight_space, false);
        pass.spaces(workspace_bytes, workspace, reserve_space_bytes, reserve_space);
        expect(reserve_space, pass.stream(), pass.problem(), kForwardDone);
        const DataTensors tensors{dy, hx, dhy, cx, dcy, weight_space, dx, dhx, dcx, reserve_space};
        pass.enqueue(faults, kDataDone, [=](const Turn &turn) { run_data(pass, tensors, turn); });
    });
}

abi::Status cudnnRNNBackwardWeights_v8(abi::Handle handle, abi::Descriptor rnn,
                                       abi::Enum wgrad_mode, const std::int32_t *dev_seq_lengths,
                                       abi::Descriptor x_desc, const void *x,
                                       abi::Descriptor h_desc, const void *hx,
                                       abi::Descriptor y_desc, const void *y,
                                       std::size_t weight_space_bytes, void *dweight_space,
                                       std::size_t workspace_bytes, void *workspace,
                                       std::size_t reserve_space_bytes, void *reserve_space) {
    return call(kWeights, [&](const Faults &faults) {
        constexpr abi::Enum kSet = 1; // cudnnWgradMode_t
        refuse_if(wgrad_mode == kSet, "NOT_SUPPORTED", "addGrad == CUDNN_WGRAD_MODE_SET");
        refuse_if(wgrad_mode != 0, "BAD_PARAM", "addGrad is no mode");
        Pass pass({kWeights, "backward_weights", true, true},
                  {handle, rnn, x_desc, y_desc, dev_seq_lengths});
        pass.state_shape("hDesc", h_desc, pass.network().proj_size, hx != nullptr);
        pass.sequences("x", pass.x(), x, false);
        pass.state("hx", pass.network().proj_size, hx, false);
        pass.sequences("y", pass.y(), y, false);
        pass.weights("dw", weight_space_bytes, dweight_space, true);
        pass.spaces(workspace_bytes, workspace, reserve_space_bytes, reserve_space);
        expect(reserve_space, pass.stream(), pass.problem(), kDataDone);
        const WeightTensors tensors{x, hx, dweight_space, reserve_space};
        pass.enqueue(faults, kNothing, [=](const Turn &turn) { run_weights(pass, tensors, turn); });
    });
}
