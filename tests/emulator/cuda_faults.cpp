#include "settings.hpp"

#include "abi/functions.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace emulator {

namespace {

struct Fault {
    std::string text;
    Due due;
    std::string function;
    long first = 1, last = 1;
    long calls = 0; // since the fault was set
};

struct Store {
    std::mutex mutex;
    std::vector<Fault> faults;
    std::atomic<bool> any{false};
};

Store &store() {
    static Store &only = *new Store;
    return only;
}

enum Argument { kNone, kWord, kNumber, kAmount, kBuffer };

// A function's own, as add_fault() may be called before this file's variables are made.
const std::map<std::string, Argument> &kinds() {
    static const std::map<std::string, Argument> all = {
        {"status", kWord},      {"oom", kNone},           {"crash", kNone},
        {"abort", kNone},       {"hang", kNone},          {"exit", kNumber},
        {"slow", kNumber},      {"sticky", kNone},        {"overrun", kBuffer},
        {"underrun", kBuffer},  {"nan", kBuffer},         {"flip", kBuffer},
        {"unwritten", kBuffer}, {"uncapturable", kNone},  {"leak", kNone},
        {"leak_host", kAmount}, {"leak_device", kAmount}, {"fragment", kAmount},
    };
    return all;
}

const char *const kBuffers[] = {"y",   "hy", "cy",        "dx",           "dhx",
                                "dcx", "dw", "workspace", "reserve_space"};

bool known(const std::string &function) {
    static const char *const names[] = {
#define EMULATOR_NAME(name) #name,
        PYHARNESS_CUDA_FUNCTIONS(EMULATOR_NAME)
            PYHARNESS_CUDNN_FUNCTIONS(EMULATOR_NAME, EMULATOR_NAME)
#undef EMULATOR_NAME
    };
    return std::find(std::begin(names), std::end(names), function) != std::end(names);
}

bool readable(Argument wanted, bool of_cudnn, const std::string &argument) {
    switch (wanted) {
    case kNone: return argument.empty();
    case kWord: return of_cudnn ? !argument.empty() : read_number(argument).value_or(0) > 0;
    case kNumber: return read_number(argument).value_or(-1) >= 0;
    case kAmount: return read_number(argument).value_or(0) >= 1;
    case kBuffer:
        return of_cudnn &&
               std::find(std::begin(kBuffers), std::end(kBuffers), argument) != std::end(kBuffers);
    }
    return false;
}

// N, N+ or *
bool read_calls(std::string text, Fault &fault) {
    const long end = std::numeric_limits<long>::max();
    if (text == "*") text = "1+";
    const bool on = !text.empty() && text.back() == '+';
    if (on) text.pop_back();
    const std::optional<double> first = read_number(text);
    if (!first || *first < 1) return false;
    fault.first = static_cast<long>(*first);
    fault.last = on ? end : fault.first;
    return true;
}

// KIND[:ARG]@FUNCTION[:N|:N+|:*]
Fault read_fault(const std::string &text) {
    Fault fault;
    fault.text = text;
    const std::string here = "fault '" + text + "': ";
    const std::size_t at = text.find('@');
    if (at == std::string::npos) refuse_setting(here + "there is no @FUNCTION");
    const std::string what = text.substr(0, at), where = text.substr(at + 1);
    const std::size_t colon = what.find(':');
    fault.due.kind = what.substr(0, colon);
    if (colon != std::string::npos) fault.due.argument = what.substr(colon + 1);
    const std::vector<std::string> place = split(where, ":");
    fault.function = place[0];
    if (!known(fault.function)) refuse_setting(here + "nothing calls " + fault.function);
    const auto kind = kinds().find(fault.due.kind);
    if (kind == kinds().end()) refuse_setting(here + "there is no kind " + fault.due.kind);
    const bool of_cudnn = fault.function.compare(0, 5, "cudnn") == 0;
    if (!readable(kind->second, of_cudnn, fault.due.argument))
        refuse_setting(here + "'" + fault.due.argument + "' cannot be done there");
    if (place.size() > 2 || (place.size() == 2 && !read_calls(place[1], fault)))
        refuse_setting(here + "after the function may stand N, N+ or *");
    return fault;
}

// Bytes on the heap that are written to and that nobody finds again.
void leak_host(std::size_t bytes) {
    auto *volatile lost = static_cast<char *>(std::malloc(bytes));
    if (lost != nullptr) std::memset(lost, 1, bytes);
}

// What happens to the whole process.
void happen(const Due &due) {
    if (due.kind == "crash" || due.kind == "abort") {
        const int signal = due.kind == "crash" ? SIGSEGV : SIGABRT;
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }
    while (due.kind == "hang")
        pause();
    if (due.kind == "exit") _exit(static_cast<int>(*read_number(due.argument)));
    if (due.kind == "slow")
        std::this_thread::sleep_for(std::chrono::duration<double>(*read_number(due.argument)));
    if (due.kind == "leak_host") leak_host(static_cast<std::size_t>(*read_number(due.argument)));
    if ((due.kind == "leak_device" || due.kind == "fragment") && memory_fault != nullptr)
        memory_fault(due);
}

} // namespace

void (*memory_fault)(const Due &due) = nullptr;

void add_fault(const std::string &text) {
    const Fault fault = read_fault(text);
    const std::lock_guard<std::mutex> lock(store().mutex);
    for (const Fault &other : store().faults)
        if (other.text == text) return;
    store().faults.push_back(fault);
    store().any = true;
}

std::vector<Due> enter(const char *function) {
    std::vector<Due> due;
    if (!store().any.load(std::memory_order_relaxed)) return due;
    {
        const std::lock_guard<std::mutex> lock(store().mutex);
        for (Fault &fault : store().faults) {
            if (fault.function != function) continue;
            ++fault.calls;
            if (fault.first <= fault.calls && fault.calls <= fault.last) due.push_back(fault.due);
        }
    }
    for (const Due &each : due)
        happen(each);
    return due;
}

} // namespace emulator
