#include "rnn/passes.hpp"

#include <algorithm>

namespace pyharness {

namespace {

constexpr int kAdd = 0; // cudnnWgradMode_t: set is not supported
constexpr std::size_t kIgnoresDevSeqLengths = 8901;

bool takes_dev_seq_lengths(const Settings &settings, const Library &library) {
    if (settings.dev_seq_lengths == DevSeqLengths::kRule)
        return library.version() < kIgnoresDevSeqLengths;
    return settings.dev_seq_lengths == DevSeqLengths::kGiven;
}

} // namespace

Pass pass_named(const std::string &name) {
    const auto *found = std::find(kPassNames.begin(), kPassNames.end(), name);
    if (found == kPassNames.end()) throw std::invalid_argument("no pass is called " + name);
    return static_cast<Pass>(found - kPassNames.begin());
}

Passes::Passes(Handle &handle, const Settings &settings, const Descriptors &descriptors,
               const Sizes &sizes, Buffers &buffers)
    : handle_(handle), descriptors_(descriptors), sizes_(sizes), buffers_(buffers),
      dev_seq_lengths_(takes_dev_seq_lengths(settings, handle.library())
                           ? at<std::int32_t>("dev_seq_lengths")
                           : nullptr),
      x_(at("x")), y_(at("y")), hx_(settings.initial_states ? at("hx") : nullptr), hy_(at("hy")),
      cx_(settings.initial_states ? at("cx") : nullptr), cy_(at("cy")), dx_(at("dx")),
      dy_(at("dy")), dhx_(at("dhx")), dhy_(at("dhy")), dcx_(at("dcx")), dcy_(at("dcy")),
      w_(at("w")), dw_(at("dw")), workspace_(at("workspace")), reserve_space_(at("reserve_space")),
      l2_flush_(buffers.address("l2_flush")), l2_flush_bytes_(buffers.l2_flush_bytes()) {}

template <class... Parameters, class... Arguments>
bool Passes::make(Making making, const char *name, abi::Status (*function)(Parameters...),
                  Arguments... arguments) {
    if (making == Making::kTimed) return handle_.calls().timed(name, function)(arguments...);
    return handle_.calls().kept(name, function)(arguments...);
}

#define PYHARNESS_MAKE(name) making, #name, handle_.calls().api().name

bool Passes::forward(bool training, Making making) {
    const std::size_t workspace = training ? sizes_.training_workspace : sizes_.inference_workspace;
    const std::size_t reserve = training ? sizes_.reserve_space : sizes_.inference_reserve_space;
    return make(PYHARNESS_MAKE(cudnnRNNForward), handle_.get(), descriptors_.rnn,
                training ? kTraining : kInference, dev_seq_lengths_, descriptors_.x, x_,
                descriptors_.y, y_, descriptors_.h, hx_, hy_, descriptors_.c, cx_, cy_,
                sizes_.weight_space, w_, workspace, workspace > 0 ? workspace_ : nullptr, reserve,
                reserve > 0 ? reserve_space_ : nullptr);
}

bool Passes::backward_data(Making making) {
    return make(PYHARNESS_MAKE(cudnnRNNBackwardData_v8), handle_.get(), descriptors_.rnn,
                dev_seq_lengths_, descriptors_.y, y_, dy_, descriptors_.x, dx_, descriptors_.h, hx_,
                dhy_, dhx_, descriptors_.c, cx_, dcy_, dcx_, sizes_.weight_space, w_,
                sizes_.training_workspace, workspace_, sizes_.reserve_space, reserve_space_);
}

bool Passes::backward_weights(Making making) {
    return make(PYHARNESS_MAKE(cudnnRNNBackwardWeights_v8), handle_.get(), descriptors_.rnn, kAdd,
                dev_seq_lengths_, descriptors_.x, x_, descriptors_.h, hx_, descriptors_.y, y_,
                sizes_.weight_space, dw_, sizes_.training_workspace, workspace_,
                sizes_.reserve_space, reserve_space_);
}

void Passes::zero_dw() const {
    handle_.stream().fill(reinterpret_cast<abi::CuPointer>(dw_), 0, sizes_.weight_space);
}

bool Passes::prepare(Pass pass, Making making) {
    const std::size_t workspace =
        pass == Pass::kForwardInference ? sizes_.inference_workspace : sizes_.training_workspace;
    if (workspace != workspace_bytes_) buffers_.resize_workspace(workspace);
    workspace_bytes_ = workspace;
    if (!needs_others(pass)) return true;
    const bool has_deltas = pass == Pass::kBackwardWeights && reserve_ == Reserve::kOfBackwardData;
    if (!has_deltas && reserve_ != Reserve::kOfForward && !enqueue(Pass::kForwardTraining, making))
        return false;
    if (pass == Pass::kBackwardData) return true;
    zero_dw();
    return has_deltas || enqueue(Pass::kBackwardData, making);
}

bool Passes::enqueue(Pass pass, Making making) {
    // Whatever a refused call has left in the reserve space, it is not to be trusted.
    const Reserve before = reserve_;
    reserve_ = Reserve::kUnknown;
    bool good = true;
    switch (pass) {
    case Pass::kForwardInference:
        good = forward(false, making);
        reserve_ = before;
        return good;
    case Pass::kForwardTraining: good = forward(true, making); break;
    case Pass::kBackwardData: good = backward_data(making); break;
    case Pass::kBackwardWeights: good = backward_weights(making); break;
    case Pass::kTrainingStep:
        good = forward(true, making);
        if (good) zero_dw();
        good = good && backward_data(making) && backward_weights(making);
        break;
    }
    if (good) ran(pass);
    return good;
}

void Passes::ran(Pass pass) {
    switch (pass) {
    case Pass::kForwardInference: break;
    case Pass::kForwardTraining: reserve_ = Reserve::kOfForward; break;
    case Pass::kBackwardData: reserve_ = Reserve::kOfBackwardData; break;
    case Pass::kBackwardWeights:
    case Pass::kTrainingStep: reserve_ = Reserve::kUnknown; break;
    }
}

void Passes::flush_l2() const {
    if (l2_flush_ == 0) throw OutOfMemory(l2_flush_bytes_, handle_.context().free_bytes());
    handle_.stream().fill(l2_flush_, 0, l2_flush_bytes_);
}

} // namespace pyharness
