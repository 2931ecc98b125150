#include "rnn/handle.hpp"

namespace pyharness {

namespace {

const Library &with_device_functions(const Library &library) {
    library.require_device_functions();
    return library;
}

} // namespace

Handle::Handle(const Library &library, Context &context, Trace &trace)
    : Tenant(context), library_(with_device_functions(library)), calls_(library.api(), trace) {
    stream_ = std::make_unique<Stream>(context.driver());
    calls_.begin("handle");
    if (!PYHARNESS_CUDNN(calls_, cudnnCreate)(&handle_)) {
        handle_ = nullptr;
        calls_.demand();
    }
    if (!PYHARNESS_CUDNN(calls_, cudnnSetStream)(handle_, stream_->get())) {
        const CallRecord refused = calls_.records().back();
        leave(); // no destructor will
        throw CudnnError(refused);
    }
}

void Handle::renew_stream() {
    context_.use();
    context_.synchronize();
    // The old one is still there: the new one is another.
    auto fresh = std::make_unique<Stream>(driver());
    calls_.begin("stream");
    if (!PYHARNESS_CUDNN(calls_, cudnnSetStream)(get(), fresh->get())) calls_.demand();
    stream_ = std::move(fresh);
}

void Handle::close() {
    if (const auto refused = end()) throw CudnnError(*refused);
}

std::optional<CallRecord> Handle::end() noexcept {
    std::optional<CallRecord> refused;
    context_.try_use();
    if (handle_ != nullptr) {
        calls_.trace().stage("close");
        calls_.trace().call("cudnnDestroy");
        const abi::Status status = library_.api().cudnnDestroy(handle_);
        if (status != abi::kSuccess) refused = {"cudnnDestroy", status, ""};
    }
    handle_ = nullptr;
    stream_.reset();
    return refused;
}

abi::Handle Handle::get() const {
    if (handle_ == nullptr) throw std::logic_error("the handle is closed");
    return handle_;
}

} // namespace pyharness
