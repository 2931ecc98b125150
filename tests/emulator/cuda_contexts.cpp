// Initialisation, cards and their primary contexts.
#include "driver.hpp"
#include "state_file.hpp"

#include <array>
#include <cstring>
#include <pthread.h>

namespace emulator {

namespace {

bool is_initialized = false;
bool is_forked = false;
thread_local Context *current = nullptr;

// Never moved, never destroyed: their addresses are the handles.
std::array<Context, kMaxCards> &contexts() {
    static std::array<Context, kMaxCards> &all = *new std::array<Context, kMaxCards>;
    return all;
}

CuResult copy_text(const std::string &text, char *to, int bytes) {
    if (to == nullptr || bytes <= 0) return kCudaInvalidValue;
    std::strncpy(to, text.c_str(), static_cast<std::size_t>(bytes) - 1);
    to[bytes - 1] = '\0';
    return kCudaSuccess;
}

bool is_card(int ordinal) { return ordinal >= 0 && ordinal < card_count(); }

// A call about a card that needs no context.
template <class Body> CuResult about_card(const char *name, abi::CuDevice device, Body body) {
    return call(name, Needs::kDriver,
                [&](Call &made) { return is_card(device) ? body(made) : abi::kCudaInvalidDevice; });
}

// Ends a context; what was left behind is a violation. Where an error sticks nothing could be
// given back.
void tear_down(Context &context, const char *function) {
    const auto say = [&](std::size_t count, const char *kind) {
        if (count == 0 || context.error != kCudaSuccess) return;
        violation(function, std::to_string(count) + " " + kind + " left behind");
    };
    context.null_stream = nullptr;
    say(free_all_of(&context), "allocation");
    say(streams().remove_of(&context), "stream");
    say(events().remove_of(&context), "event");
    say(graphs().remove_of(&context), "graph");
    say(execs().remove_of(&context), "executable graph");
    card_state(context.ordinal).show_idle();
    for (const Context &other : contexts())
        if (other.references > 0 || other.error != kCudaSuccess) return;
    report_left(function);
}

} // namespace

std::recursive_mutex &driver_lock() {
    static std::recursive_mutex &only = *new std::recursive_mutex;
    return only;
}

Context *current_context() {
    return current != nullptr && current->references > 0 ? current : nullptr;
}

CuResult begin(Call &call, Needs needs) {
    for (const Due &due : call.due) {
        if (due.kind == "status") return static_cast<CuResult>(*read_number(due.argument));
        if (due.kind == "oom") return abi::kCudaOutOfMemory;
    }
    if (needs == Needs::kNothing) return kCudaSuccess;
    if (!is_initialized || is_forked) return abi::kCudaNotInitialized;
    call.context = current_context();
    if (needs == Needs::kDriver) return kCudaSuccess;
    if (call.context == nullptr) return abi::kCudaInvalidContext;
    if (needs != Needs::kQueue && call.has("sticky")) stick(abi::kCudaIllegalAddress);
    return call.context->error;
}

bool usable() {
    const std::lock_guard<std::recursive_mutex> lock(driver_lock());
    const Context *context = current_context();
    return context != nullptr && context->error == kCudaSuccess;
}

void stick(CuResult error) {
    const std::lock_guard<std::recursive_mutex> lock(driver_lock());
    Context *context = current_context();
    if (context != nullptr && context->error == kCudaSuccess) context->error = error;
}

} // namespace emulator

using namespace emulator;

CuResult cuInit(unsigned flags) {
    return call("cuInit", Needs::kNothing, [&](Call &) {
        if (flags != 0) return kCudaInvalidValue;
        if (is_forked) return abi::kCudaNotInitialized;
        if (card_count() == 0) return abi::kCudaNoDevice;
        // As with the real one, a child process that inherits the driver cannot use it.
        if (!is_initialized) pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
        is_initialized = true;
        return kCudaSuccess;
    });
}

CuResult cuDriverGetVersion(int *version) {
    return call("cuDriverGetVersion", Needs::kNothing, [&](Call &) {
        if (version == nullptr) return kCudaInvalidValue;
        *version = driver_version();
        return kCudaSuccess;
    });
}

CuResult cuDeviceGetCount(int *count) {
    return call("cuDeviceGetCount", Needs::kDriver, [&](Call &) {
        if (count == nullptr) return kCudaInvalidValue;
        *count = card_count();
        return kCudaSuccess;
    });
}

CuResult cuDeviceGet(abi::CuDevice *device, int ordinal) {
    return about_card("cuDeviceGet", ordinal, [&](Call &) {
        if (device == nullptr) return kCudaInvalidValue;
        *device = ordinal;
        return kCudaSuccess;
    });
}

CuResult cuDeviceGetName(char *name, int bytes, abi::CuDevice device) {
    return about_card("cuDeviceGetName", device,
                      [&](Call &) { return copy_text(card_name(), name, bytes); });
}

CuResult cuDeviceGetPCIBusId(char *id, int bytes, abi::CuDevice device) {
    return about_card("cuDeviceGetPCIBusId", device,
                      [&](Call &) { return copy_text(card_bus_id(device), id, bytes); });
}

CuResult cuDeviceTotalMem_v2(std::size_t *bytes, abi::CuDevice device) {
    return about_card("cuDeviceTotalMem_v2", device, [&](Call &) {
        if (bytes == nullptr) return kCudaInvalidValue;
        *bytes = card_bytes();
        return kCudaSuccess;
    });
}

CuResult cuDeviceGetAttribute(int *value, int attribute, abi::CuDevice device) {
    return about_card("cuDeviceGetAttribute", device, [&](Call &) {
        if (value == nullptr) return kCudaInvalidValue;
        const auto capability = split(setting("compute_capability").value_or("8.0"), ".");
        switch (attribute) {
        case abi::kMultiprocessorCount:
            *value = static_cast<int>(number("multiprocessors", 108));
            return kCudaSuccess;
        case abi::kL2CacheBytes: *value = static_cast<int>(l2_bytes()); return kCudaSuccess;
        case abi::kComputeCapabilityMajor: *value = std::stoi(capability[0]); return kCudaSuccess;
        case abi::kComputeCapabilityMinor: *value = std::stoi(capability[1]); return kCudaSuccess;
        default: return kCudaInvalidValue;
        }
    });
}

CuResult cuDevicePrimaryCtxRetain(abi::CuContext *handle, abi::CuDevice device) {
    return about_card("cuDevicePrimaryCtxRetain", device, [&](Call &) {
        if (handle == nullptr) return kCudaInvalidValue;
        Context &context = contexts()[static_cast<std::size_t>(device)];
        if (context.error != kCudaSuccess) return context.error;
        if (context.references++ == 0) {
            context.ordinal = device;
            context.null_stream = std::make_shared<Stream>();
            context.null_stream->context = &context;
            context.null_stream->blocking = true;
            context.null_stream->queue = std::make_shared<Queue>();
            card_state(device).show_idle();
        }
        *handle = &context;
        return kCudaSuccess;
    });
}

CuResult cuDevicePrimaryCtxRelease_v2(abi::CuDevice device) {
    return about_card("cuDevicePrimaryCtxRelease_v2", device, [&](Call &made) {
        Context &context = contexts()[static_cast<std::size_t>(device)];
        if (context.references == 0)
            return made.wrong(abi::kCudaInvalidContext, "the primary context is not retained");
        if (made.has("leak")) return kCudaSuccess;
        if (--context.references == 0) tear_down(context, made.name);
        return context.error;
    });
}

CuResult cuCtxSetCurrent(abi::CuContext handle) {
    return call("cuCtxSetCurrent", Needs::kDriver, [&](Call &made) {
        if (handle == nullptr) {
            current = nullptr;
            return kCudaSuccess;
        }
        for (Context &context : contexts()) {
            if (&context != handle || context.references == 0) continue;
            current = &context;
            return context.error;
        }
        return made.wrong(abi::kCudaInvalidContext, "there is no such context");
    });
}

CuResult cuCtxSynchronize() {
    return call("cuCtxSynchronize", Needs::kContext, [&](Call &made) {
        Context &context = *made.context;
        if (spoil_captures_of(context)) return abi::kCudaStreamCaptureUnsupported;
        wait_for_null_stream(context);
        streams().each([&](Stream &stream) {
            if (stream.context != &context) return;
            run(context, *stream.queue);
            host_waits_for(stream.queue->time_ns);
        });
        return context.error;
    });
}
