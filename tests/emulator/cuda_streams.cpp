// Streams: queues that wait for somebody who waits for them.
#include "driver.hpp"

#include <cstring>

namespace emulator {

namespace {

// More than this does not wait for anybody.
constexpr std::size_t kMostItems = 4096;

Work work_of(std::function<void()> function) {
    return std::make_shared<const std::function<void()>>(std::move(function));
}

// The stream of a call; a violation if there is none.
std::shared_ptr<Stream> stream_of(const Call &made, void *handle) {
    std::shared_ptr<Stream> stream = find_stream(made.context, handle);
    if (stream == nullptr) violation(made.name, "there is no such stream");
    return stream;
}

} // namespace

Handles<Stream> &streams() {
    static Handles<Stream> &all = *new Handles<Stream>;
    return all;
}

std::shared_ptr<Stream> find_stream(Context *context, void *handle) {
    if (handle == nullptr) return context->null_stream;
    std::shared_ptr<Stream> stream = streams().find(handle);
    return stream != nullptr && stream->context == context ? stream : nullptr;
}

void run(Context &context, Queue &queue, const Event *until) {
    while (!queue.items.empty() && context.error == kCudaSuccess) {
        if (until != nullptr && until->complete) return;
        const Item item = std::move(queue.items.front());
        queue.items.pop_front();
        if (item.work != nullptr) (*item.work)();
        if (item.event != nullptr && item.event->records == item.record)
            item.event->complete = true;
    }
    if (context.error != kCudaSuccess) queue.items.clear();
}

void put(Stream &stream, Item item) {
    Queue &queue = *stream.queue;
    if (queue.items.size() >= kMostItems) run(*stream.context, queue);
    queue.items.push_back(std::move(item));
}

void put(Stream &stream, const Node &node, bool replayed) {
    if (stream.capture != nullptr) {
        stream.capture->nodes.push_back(node);
        return;
    }
    Queue &queue = *stream.queue;
    queue.time_ns = std::max(queue.time_ns, host_ns()) + cost_now(*stream.context, node, replayed);
    put(stream, Item{node.work, nullptr, 0});
}

void wait_for_null_stream(Context &context) {
    run(context, *context.null_stream->queue);
    host_waits_for(context.null_stream->queue->time_ns);
}

bool enqueue(void *handle, double cost_ns, double cold_ns, std::function<void()> work) {
    const std::lock_guard<std::recursive_mutex> lock(driver_lock());
    Context *context = current_context();
    if (context == nullptr || context->error != kCudaSuccess) return false;
    const std::shared_ptr<Stream> stream = find_stream(context, handle);
    if (stream == nullptr || (stream->capture != nullptr && stream->capture->spoiled)) return false;
    host_calls();
    put(*stream, Node{work_of(std::move(work)), cost_ns, cold_ns, cost_ns > 0, false}, false);
    return true;
}

bool busy_beside(void *handle) {
    const std::lock_guard<std::recursive_mutex> lock(driver_lock());
    Context *context = current_context();
    const auto own = context != nullptr ? find_stream(context, handle) : nullptr;
    bool busy = false;
    streams().each([&](const Stream &other) {
        busy |= other.context == context && own != nullptr && other.queue != own->queue &&
                !other.queue->items.empty();
    });
    return busy;
}

} // namespace emulator

using namespace emulator;

CuResult cuStreamCreate(abi::CuStream *handle, unsigned flags) {
    return call("cuStreamCreate", Needs::kContext, [&](Call &made) {
        if (handle == nullptr || flags > abi::kStreamNonBlocking) return kCudaInvalidValue;
        auto stream = std::make_shared<Stream>();
        stream->context = made.context;
        stream->blocking = flags != abi::kStreamNonBlocking;
        stream->queue =
            stream->blocking ? made.context->null_stream->queue : std::make_shared<Queue>();
        *handle = streams().add(stream);
        return kCudaSuccess;
    });
}

CuResult cuStreamDestroy_v2(abi::CuStream handle) {
    return call("cuStreamDestroy_v2", Needs::kContext, [&](Call &made) {
        const auto stream = handle != nullptr ? stream_of(made, handle) : nullptr;
        if (stream == nullptr) return kCudaInvalidHandle;
        if (stream->capture != nullptr) violation(made.name, "the stream is being captured");
        if (made.has("leak")) return kCudaSuccess;
        // What is in the queue is done all the same.
        if (!stream->blocking) run(*made.context, *stream->queue);
        streams().remove(handle);
        return made.context->error;
    });
}

CuResult cuStreamSynchronize(abi::CuStream handle) {
    return call("cuStreamSynchronize", Needs::kContext, [&](Call &made) {
        const auto stream = stream_of(made, handle);
        if (stream == nullptr) return kCudaInvalidHandle;
        if (stream->capture != nullptr) return spoil(*stream, abi::kCudaStreamCaptureUnsupported);
        run(*made.context, *stream->queue);
        host_waits_for(stream->queue->time_ns);
        return made.context->error;
    });
}

CuResult cuMemsetD8Async(CuPointer to, unsigned char value, std::size_t count,
                         abi::CuStream handle) {
    return call("cuMemsetD8Async", Needs::kQueue, [&](Call &made) {
        const auto stream = stream_of(made, handle);
        if (stream == nullptr) return kCudaInvalidHandle;
        if (const CuResult refused = uncapturable(made, *stream)) return refused;
        void *target = reinterpret_cast<void *>(to);
        if (count > 0 && room(target) < count)
            return made.wrong(kCudaInvalidValue, "no allocation holds these bytes");
        host_calls();
        const double cost_ns = static_cast<double>(count) / 1e12 * 1e9;
        const bool fails = made.has("sticky");
        const Work work = work_of([=] {
            if (fails || room(target) < count) return stick(abi::kCudaIllegalAddress);
            std::memset(target, value, count);
        });
        put(*stream, Node{work, cost_ns, 0, false, count >= l2_bytes()}, false);
        return kCudaSuccess;
    });
}
