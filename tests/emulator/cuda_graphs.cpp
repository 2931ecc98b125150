// Captures, and the graphs that are made of them.
#include "driver.hpp"

namespace emulator {

namespace {

constexpr int kCaptureGlobal = 0;
constexpr int kCaptureRelaxed = 2;
constexpr unsigned long long kAllFlags = 15; // CUgraphInstantiate_flags

template <class Object>
std::shared_ptr<Object> object_of(const Call &made, const Handles<Object> &all, void *handle) {
    std::shared_ptr<Object> object = all.find(handle);
    if (object != nullptr && object->context == made.context) return object;
    violation(made.name, "there is no such graph");
    return nullptr;
}

// Whether an unsafe call of this thread hurts the capture.
bool watches(const Capture &capture) {
    if (capture.mode == kCaptureRelaxed) return false;
    return capture.mode == kCaptureGlobal || capture.owner == std::this_thread::get_id();
}

} // namespace

Handles<Graph> &graphs() {
    static Handles<Graph> &all = *new Handles<Graph>;
    return all;
}

Handles<Exec> &execs() {
    static Handles<Exec> &all = *new Handles<Exec>;
    return all;
}

CuResult spoil(Stream &stream, CuResult answer) {
    if (stream.capture->spoiled) return abi::kCudaStreamCaptureInvalidated;
    stream.capture->spoiled = true;
    return answer;
}

bool spoil_captures_of(Context &context) {
    bool any = false;
    streams().each([&](Stream &stream) {
        if (stream.context != &context || stream.capture == nullptr) return;
        stream.capture->spoiled = true;
        any = true;
    });
    return any;
}

CuResult unsafe_in_capture(Context &context, bool uses_null_stream) {
    CuResult answer = kCudaSuccess;
    streams().each([&](Stream &stream) {
        if (stream.context != &context || stream.capture == nullptr) return;
        const bool implied = uses_null_stream && stream.blocking;
        if (!implied && !watches(*stream.capture)) return;
        stream.capture->spoiled = true;
        answer = implied ? kCudaStreamCaptureImplicit : abi::kCudaStreamCaptureUnsupported;
    });
    return answer;
}

CuResult uncapturable(const Call &made, Stream &stream) {
    if (stream.capture == nullptr) return kCudaSuccess;
    if (stream.capture->spoiled) return abi::kCudaStreamCaptureInvalidated;
    if (made.has("uncapturable")) return spoil(stream, abi::kCudaStreamCaptureUnsupported);
    return kCudaSuccess;
}

bool capturing(void *handle) {
    const std::lock_guard<std::recursive_mutex> lock(driver_lock());
    Context *context = current_context();
    const auto stream = context != nullptr ? find_stream(context, handle) : nullptr;
    return stream != nullptr && stream->capture != nullptr;
}

void spoil_capture(void *handle) {
    const std::lock_guard<std::recursive_mutex> lock(driver_lock());
    if (capturing(handle)) find_stream(current_context(), handle)->capture->spoiled = true;
}

} // namespace emulator

using namespace emulator;

CuResult cuStreamBeginCapture_v2(abi::CuStream handle, int mode) {
    return call("cuStreamBeginCapture_v2", Needs::kContext, [&](Call &made) {
        if (mode < kCaptureGlobal || mode > kCaptureRelaxed) return kCudaInvalidValue;
        const auto stream = find_stream(made.context, handle);
        if (stream == nullptr) return made.wrong(kCudaInvalidHandle, "there is no such stream");
        if (handle == nullptr) return abi::kCudaStreamCaptureUnsupported;
        if (stream->capture != nullptr) return kCudaIllegalState;
        stream->capture.reset(new Capture{std::this_thread::get_id(), mode, false, {}});
        return kCudaSuccess;
    });
}

CuResult cuStreamEndCapture(abi::CuStream handle, abi::CuGraph *graph_handle) {
    return call("cuStreamEndCapture", Needs::kContext, [&](Call &made) {
        if (graph_handle == nullptr) return kCudaInvalidValue;
        const auto stream = find_stream(made.context, handle);
        if (stream == nullptr) return made.wrong(kCudaInvalidHandle, "there is no such stream");
        if (stream->capture == nullptr) return kCudaIllegalState;
        Capture &capture = *stream->capture;
        if (capture.mode != kCaptureRelaxed && capture.owner != std::this_thread::get_id())
            return spoil(*stream, kCudaStreamCaptureWrongThread);
        *graph_handle = nullptr;
        const std::unique_ptr<Capture> ended = std::move(stream->capture);
        if (ended->spoiled) return abi::kCudaStreamCaptureInvalidated;
        auto graph = std::make_shared<Graph>();
        graph->context = made.context;
        graph->nodes = std::move(ended->nodes);
        *graph_handle = graphs().add(graph);
        return kCudaSuccess;
    });
}

CuResult cuGraphInstantiateWithFlags(abi::CuGraphExec *exec_handle, abi::CuGraph handle,
                                     unsigned long long flags) {
    return call("cuGraphInstantiateWithFlags", Needs::kContext, [&](Call &made) {
        if (exec_handle == nullptr || flags > kAllFlags) return kCudaInvalidValue;
        const auto graph = object_of(made, graphs(), handle);
        if (graph == nullptr) return kCudaInvalidValue;
        auto exec = std::make_shared<Exec>();
        exec->context = made.context;
        exec->nodes = graph->nodes;
        *exec_handle = execs().add(exec);
        return kCudaSuccess;
    });
}

CuResult cuGraphLaunch(abi::CuGraphExec handle, abi::CuStream stream_handle) {
    return call("cuGraphLaunch", Needs::kQueue, [&](Call &made) {
        const auto exec = object_of(made, execs(), handle);
        if (exec == nullptr) return kCudaInvalidValue;
        const auto stream = find_stream(made.context, stream_handle);
        if (stream == nullptr) return made.wrong(kCudaInvalidHandle, "there is no such stream");
        if (const CuResult refused = uncapturable(made, *stream)) return refused;
        host_calls();
        for (const Node &node : exec->nodes)
            put(*stream, node, true);
        if (made.has("sticky")) {
            const auto fail = [] { stick(abi::kCudaIllegalAddress); };
            put(*stream, Item{std::make_shared<const std::function<void()>>(fail), nullptr, 0});
        }
        return kCudaSuccess;
    });
}

CuResult cuGraphExecDestroy(abi::CuGraphExec handle) {
    return call("cuGraphExecDestroy", Needs::kContext, [&](Call &made) {
        if (object_of(made, execs(), handle) == nullptr) return kCudaInvalidValue;
        if (!made.has("leak")) execs().remove(handle);
        return kCudaSuccess;
    });
}

CuResult cuGraphDestroy(abi::CuGraph handle) {
    return call("cuGraphDestroy", Needs::kContext, [&](Call &made) {
        if (object_of(made, graphs(), handle) == nullptr) return kCudaInvalidValue;
        if (!made.has("leak")) graphs().remove(handle);
        return kCudaSuccess;
    });
}
