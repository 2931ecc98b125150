// The emulated driver's own objects, shared by the files cuda_*.cpp. Whoever touches them holds
// the one lock: call() takes it.
#pragma once

#include "card.hpp"
#include "objects.hpp"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

// Each function has the type that the harness calls it by.
#define EMULATOR_DECLARE(name) extern "C" EMULATOR_API pyharness::abi::name name;
PYHARNESS_CUDA_FUNCTIONS(EMULATOR_DECLARE)
#undef EMULATOR_DECLARE

namespace emulator {

namespace abi = pyharness::abi;
using abi::CuPointer;
using abi::CuResult;
using abi::kCudaInvalidHandle;
using abi::kCudaInvalidValue;
using abi::kCudaSuccess;

constexpr CuResult kCudaIllegalState = 401;
constexpr CuResult kCudaStreamCaptureImplicit = 906;
constexpr CuResult kCudaCapturedEvent = 907;
constexpr CuResult kCudaStreamCaptureWrongThread = 908;

using Work = std::shared_ptr<const std::function<void()>>;

struct Context;

struct Queue;

struct Event {
    static constexpr std::uintptr_t kTag = 0xe;
    Context *context = nullptr;
    bool timed = true;
    bool recorded = false;        // ever, outside of a capture
    bool captured = false;        // last in a capture
    bool complete = true;         // what was recorded last is done
    unsigned records = 0;         // how often it was recorded
    std::shared_ptr<Queue> queue; // where last
    double at_ns = 0;
};

// A piece of work as a graph keeps it.
struct Node {
    Work work;
    double cost_ns = 0, cold_ns = 0;
    bool pass = false;    // else a memset: nothing changes its cost
    bool flushes = false; // the L2 cache
};

struct Item {
    Work work;
    std::shared_ptr<Event> event;
    unsigned record = 0; // of the event
};

// What waits to be run, in order. Streams that wait for the null stream share its queue.
struct Queue {
    std::deque<Item> items;
    double time_ns = 0; // when the last item is done, on the virtual clock
};

struct Capture {
    std::thread::id owner;
    int mode;
    bool spoiled = false;
    std::vector<Node> nodes;
};

struct Stream {
    static constexpr std::uintptr_t kTag = 0x5;
    Context *context = nullptr;
    bool blocking = true;
    std::shared_ptr<Queue> queue;
    std::unique_ptr<Capture> capture;
};

struct Graph {
    static constexpr std::uintptr_t kTag = 0x6;
    Context *context = nullptr;
    std::vector<Node> nodes;
};

struct Exec {
    static constexpr std::uintptr_t kTag = 0xa;
    Context *context = nullptr;
    std::vector<Node> nodes;
};

// The primary context of a card.
struct Context {
    int ordinal = 0;
    int references = 0;
    CuResult error = kCudaSuccess; // sticks
    // Of the card: start and bytes of each part that somebody has.
    std::map<std::size_t, std::size_t> held;
    // How many of them planted faults took, and the one that `fragment` breaks up.
    std::size_t lost = 0;
    std::optional<std::size_t> hoard;
    bool flushed = false; // the L2 cache, since the last pass
    std::shared_ptr<Stream> null_stream;
};

std::recursive_mutex &driver_lock();
// The context that is current in this thread, if it lives.
Context *current_context();

Handles<Stream> &streams();
Handles<Event> &events();
Handles<Graph> &graphs();
Handles<Exec> &execs();

// The virtual clock of the host; when work begins on it and how long it takes.
double &host_ns();
void host_waits_for(double time_ns);
// What an enqueuing call costs the host.
void host_calls();
// The cost of a node that is put into a queue now, with everything that makes it vary.
double cost_now(Context &context, const Node &node, bool replayed);

// Null if there is none, or if it belongs to another context. The null stream has no handle.
std::shared_ptr<Stream> find_stream(Context *context, void *handle);
// At the end of the stream's queue, or into its graph.
void put(Stream &stream, const Node &node, bool replayed);
void put(Stream &stream, Item item);
// Runs a queue, to the end or until the event is done. Stops where an error sticks.
void run(Context &context, Queue &queue, const Event *until = nullptr);
// Runs what the null stream waits for; the host waits.
void wait_for_null_stream(Context &context);

std::size_t free_bytes(const Context &context);
std::size_t free_all_of(Context *context); // how many allocations were left

enum class Needs { kNothing, kDriver, kContext, kQueue };

// One call of a function: its faults, and the context that it works on.
struct Call {
    const char *name;
    std::vector<Due> due;
    Context *context = nullptr;

    bool has(const char *kind) const {
        for (const Due &each : due)
            if (each.kind == kind) return true;
        return false;
    }
    CuResult wrong(CuResult answer, const std::string &what) const {
        violation(name, what);
        return answer;
    }
};

// Whether captures forbid a call that no graph can hold; they are spoiled then.
CuResult unsafe_in_capture(Context &context, bool uses_null_stream);
// Whether a call that a graph can hold cannot be captured.
CuResult uncapturable(const Call &made, Stream &stream);
// Spoils the stream's capture; the answer, or that it is spoiled already.
CuResult spoil(Stream &stream, CuResult answer);
// Whether any stream was being captured.
bool spoil_captures_of(Context &context);

// What every call begins with. kQueue: a context, and a sticky fault is one of the work.
CuResult begin(Call &call, Needs needs);

template <class Body> CuResult call(const char *name, Needs needs, Body body) {
    Call made{name, enter(name)};
    const std::lock_guard<std::recursive_mutex> lock(driver_lock());
    if (const CuResult answer = begin(made, needs)) return answer;
    return body(made);
}

} // namespace emulator
