#include "driver.hpp"

namespace emulator {

namespace {

constexpr unsigned kDisableTiming = 2; // CU_EVENT_DISABLE_TIMING
constexpr unsigned kAllFlags = 7;

std::shared_ptr<Event> event_of(const Call &made, void *handle) {
    std::shared_ptr<Event> event = events().find(handle);
    if (event != nullptr && event->context == made.context) return event;
    violation(made.name, "there is no such event");
    return nullptr;
}

} // namespace

Handles<Event> &events() {
    static Handles<Event> &all = *new Handles<Event>;
    return all;
}

} // namespace emulator

using namespace emulator;

CuResult cuEventCreate(abi::CuEvent *handle, unsigned flags) {
    return call("cuEventCreate", Needs::kContext, [&](Call &made) {
        if (handle == nullptr || flags > kAllFlags) return kCudaInvalidValue;
        auto event = std::make_shared<Event>();
        event->context = made.context;
        event->timed = (flags & kDisableTiming) == 0;
        *handle = events().add(event);
        return kCudaSuccess;
    });
}

CuResult cuEventDestroy_v2(abi::CuEvent handle) {
    return call("cuEventDestroy_v2", Needs::kContext, [&](Call &made) {
        if (event_of(made, handle) == nullptr) return kCudaInvalidHandle;
        if (!made.has("leak")) events().remove(handle);
        return kCudaSuccess;
    });
}

CuResult cuEventRecord(abi::CuEvent handle, abi::CuStream stream_handle) {
    return call("cuEventRecord", Needs::kQueue, [&](Call &made) {
        const auto event = event_of(made, handle);
        if (event == nullptr) return kCudaInvalidHandle;
        const auto stream = find_stream(made.context, stream_handle);
        if (stream == nullptr) return made.wrong(kCudaInvalidHandle, "there is no such stream");
        if (const CuResult refused = uncapturable(made, *stream)) return refused;
        host_calls();
        event->captured = stream->capture != nullptr;
        if (event->captured) return kCudaSuccess;
        Queue &queue = *stream->queue;
        queue.time_ns = std::max(queue.time_ns, host_ns());
        event->recorded = true;
        event->complete = false;
        event->at_ns = queue.time_ns;
        Item item{nullptr, event, ++event->records};
        if (made.has("sticky"))
            item.work = std::make_shared<const std::function<void()>>(
                [] { stick(abi::kCudaIllegalAddress); });
        put(*stream, std::move(item));
        event->queue = stream->queue;
        return kCudaSuccess;
    });
}

CuResult cuEventSynchronize(abi::CuEvent handle) {
    return call("cuEventSynchronize", Needs::kContext, [&](Call &made) {
        const auto event = event_of(made, handle);
        if (event == nullptr) return kCudaInvalidHandle;
        const CuResult refused = unsafe_in_capture(*made.context, false);
        if (event->captured) return kCudaCapturedEvent;
        if (refused != kCudaSuccess) return refused;
        if (!event->recorded) return kCudaSuccess;
        run(*made.context, *event->queue, event.get());
        host_waits_for(event->at_ns);
        return made.context->error;
    });
}

CuResult cuEventElapsedTime(float *milliseconds, abi::CuEvent from, abi::CuEvent to) {
    return call("cuEventElapsedTime", Needs::kContext, [&](Call &made) {
        if (milliseconds == nullptr) return kCudaInvalidValue;
        const auto first = event_of(made, from), last = event_of(made, to);
        for (const auto &event : {first, last}) {
            if (event == nullptr || !event->timed || !event->recorded || event->captured)
                return kCudaInvalidHandle;
        }
        if (!first->complete || !last->complete) return abi::kCudaNotReady;
        *milliseconds = static_cast<float>((last->at_ns - first->at_ns) / 1e6);
        return kCudaSuccess;
    });
}
