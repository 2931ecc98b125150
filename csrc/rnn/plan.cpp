#include "rnn/plan.hpp"

#include <algorithm>

namespace pyharness {

namespace {

constexpr std::array<const char *, 5> kSetup = {"descriptor", "data", "state", "sizes", "build"};
constexpr std::size_t kSizesStage = 3;

} // namespace

Plan::Plan(Handle &handle, Arena &arena, Settings settings)
    : Tenant(handle.context()), handle_(handle), arena_(arena), settings_(std::move(settings)),
      descriptors_(handle), buffers_(handle.context(), settings_.alignment) {
    handle.get(); // throws if it is closed
}

std::vector<CallRecord> Plan::run(const std::string &stage) {
    check_open();
    const auto *setup = std::find(kSetup.begin(), kSetup.end(), stage);
    if (setup != kSetup.end()) {
        const auto index = static_cast<std::size_t>(setup - kSetup.begin());
        if (index != stages_done_)
            throw std::logic_error("the stage " + stage + " is out of order");
        handle_.calls().begin(stage.c_str());
        const bool good = run_setup(index);
        context_.synchronize();
        if (good) ++stages_done_;
    } else {
        const Pass pass = pass_named(stage);
        start(pass);
        if (passes_->prepare(pass, Making::kKept)) passes_->enqueue(pass, Making::kKept);
        context_.synchronize();
    }
    return handle_.calls().records();
}

bool Plan::run_setup(std::size_t stage) {
    switch (stage) {
    case 0: return describe();
    case 1: return descriptors_.make_data(settings_);
    case 2: return descriptors_.make_states(settings_);
    case 3: return ask_sizes(handle_, descriptors_, sizes_);
    default: return build();
    }
}

bool Plan::describe() {
    if (settings_.dropout) {
        abi::CuPointer states = 0;
        if (!descriptors_.make_dropout()) return false;
        if (settings_.dropout_rate != 0) {
            if (!descriptors_.dropout_states_bytes(dropout_states_bytes_)) return false;
            arena_.lend(this);
            states = buffers_.take_dropout_states(arena_, dropout_states_bytes_);
        }
        if (!descriptors_.set_dropout(settings_, states, dropout_states_bytes_)) return false;
    }
    return descriptors_.make_rnn(settings_);
}

bool Plan::build() {
    return settings_.algo != kPersistDynamic ||
           PYHARNESS_CUDNN(handle_.calls(), cudnnBuildRNNDynamic)(handle_.get(), descriptors_.rnn,
                                                                  settings_.batch_size);
}

void Plan::allocate(bool training) {
    check_open();
    if (stages_done_ <= kSizesStage) throw std::logic_error("sizes must have been asked for first");
    if (passes_) throw std::logic_error("the plan has its memory already");
    arena_.lend(this);
    handle_.calls().begin("allocate");
    buffers_.take(arena_, settings_, sizes_, training, handle_.stream());
    weights_.clear();
    if (!find_weights(handle_, descriptors_, settings_, buffers_.address("w"), sizes_.weight_space,
                      weights_))
        handle_.calls().demand();
    buffers_.fill(settings_, weights_, handle_.stream());
    passes_.emplace(handle_, settings_, descriptors_, sizes_, buffers_);
    trains_ = training;
}

std::vector<std::pair<std::string, std::size_t>> Plan::sizes() const {
    if (stages_done_ <= kSizesStage) throw std::logic_error("sizes must have been asked for first");
    std::vector<std::pair<std::string, std::size_t>> all = {
        {"weight_space_bytes", sizes_.weight_space},
        {"workspace_bytes.forward_inference", sizes_.inference_workspace},
        {"workspace_bytes.forward_training", sizes_.training_workspace},
        {"reserve_space_bytes", sizes_.reserve_space},
        {"dropout_states_bytes", dropout_states_bytes_}};
    for (auto &tensor : tensor_bytes(settings_))
        all.push_back(std::move(tensor));
    return all;
}

const Buffers &Plan::buffers() const {
    check_open();
    if (!passes_) throw std::logic_error("the plan has no memory yet");
    return buffers_;
}

void Plan::poison(const std::string &name, unsigned char byte) {
    const Carving::Buffer &buffer = buffers().find(name);
    if (name == "workspace") {
        buffers_.resize_workspace(buffer.room);
        passes_->forget_workspace();
    }
    context_.synchronize();
    if (buffer.bytes > 0) handle_.stream().fill(buffers_.address(name), byte, buffer.bytes);
    context_.synchronize();
}

void Plan::reseed() {
    check_open();
    if (dropout_states_bytes_ == 0) return;
    handle_.calls().begin("reseed");
    if (!descriptors_.set_dropout(settings_, buffers_.address("dropout_states"),
                                  dropout_states_bytes_))
        handle_.calls().demand();
    context_.synchronize();
}

void Plan::enqueue(Pass pass, std::size_t count) {
    start(pass);
    for (std::size_t i = 0; i < count; ++i) {
        prepare(pass);
        enqueue(pass);
    }
}

std::vector<CallRecord> Plan::capture(Pass pass) {
    start(pass);
    graphs_.erase(pass);
    Calls &calls = handle_.calls();
    const Stream &stream = handle_.stream();
    const auto keep = [&calls](const CudaError &error) {
        calls.add({error.call, error.code, error.name + ": " + error.text});
    };
    if (!passes_->prepare(pass, Making::kKept)) return calls.records();
    stream.synchronize();
    calls.begin(kPassNames[static_cast<std::size_t>(pass)]); // only the pass itself counts
    bool good = false;
    try {
        stream.begin_capture();
        good = passes_->enqueue(pass, Making::kKept);
    } catch (const CudaError &error) {
        keep(error);
    }
    // Nothing has run: what the reserve space holds is of no pass that the library remembers.
    passes_->forget_reserve_space();
    try {
        // What was begun is ended; why it was to fail has been said already.
        const abi::CuGraph captured = stream.end_capture();
        if (good) graphs_.try_emplace(pass, handle_.driver(), captured);
        else handle_.driver().api().cuGraphDestroy(captured);
    } catch (const CudaError &error) {
        if (good) keep(error);
    }
    context_.synchronize(); // a device that has failed is another matter
    return calls.records();
}

void Plan::start(Pass pass) {
    check_open();
    if (!passes_) throw std::logic_error("the plan has no memory yet");
    if (stages_done_ < kSetup.size()) throw std::logic_error("the plan is not built");
    if (pass != Pass::kForwardInference && !trains_)
        throw std::logic_error("the plan has the memory of inference alone");
    handle_.calls().begin(kPassNames[static_cast<std::size_t>(pass)]);
}

const Graph &Plan::graph(Pass pass) const {
    const auto found = graphs_.find(pass);
    if (found == graphs_.end()) throw std::logic_error("the pass has not been captured");
    return found->second;
}

void Plan::replay(const Graph &graph, Pass pass) {
    graph.launch(handle_.stream().get());
    passes_->ran(pass);
}

void Plan::check_open() const {
    if (!open_) throw std::logic_error("the plan is closed");
    context_.use();
}

void Plan::close() {
    if (const auto refused = end()) throw CudnnError(*refused);
}

std::optional<CallRecord> Plan::end() noexcept {
    if (!open_) return std::nullopt;
    open_ = false;
    const bool usable = context_.try_use();
    if (usable) handle_.driver().api().cuCtxSynchronize(); // nothing may still be under way
    handle_.calls().trace().stage("close");
    graphs_.clear();
    passes_.reset();
    auto refused = descriptors_.destroy();
    arena_.take_back(this);
    return refused;
}

} // namespace pyharness
