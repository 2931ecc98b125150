#include "cudnn_refusal.hpp"
#include "cudnn_call.hpp"
#include "cudnn_real.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace emulator {

namespace {

struct Listener {
    unsigned mask = 0;
    void *udata = nullptr;
    abi::Callback callback = nullptr;
};
std::mutex listener_mutex;
Listener listener;

thread_local std::string last_error;

} // namespace

abi::Status tell(const char *function, const Refusal &refusal) {
    if (refusal.broken_rule) violation(function, refusal.reason);
    const abi::Status status = status_number(refusal.status);
    const bool warning = refusal.status.rfind("NOT_SUPPORTED", 0) == 0;
    Listener to;
    {
        const std::lock_guard<std::mutex> lock(listener_mutex);
        to = listener;
    }
    if (to.callback != nullptr &&
        (to.mask & (warning ? abi::kWarningEnabled : abi::kErrorEnabled)) != 0) {
        // Lines that end with a NUL each, and an empty one behind them.
        const std::string lines[] = {
            "CuDNN (v" + std::to_string(real().version) + ") function " + function + "() called:",
            std::string(warning ? "        Warning: " : "        Error: ") +
                real().cudnnGetErrorString(status) + "; Reason: " + refusal.reason};
        std::string message;
        for (const std::string &line : lines)
            message += line + '\0';
        static const char debug[256] = {};
        to.callback(warning ? 2 : 1, to.udata, reinterpret_cast<const abi::DebugInfo *>(debug),
                    message.c_str());
    }
    last_error = refusal.reason;
    return status;
}

void forget_last_error() { last_error.clear(); }

} // namespace emulator

using namespace emulator;

abi::Status cudnnSetCallback(unsigned mask, void *udata, abi::Callback callback) {
    {
        const std::lock_guard<std::mutex> lock(listener_mutex);
        listener = {mask, udata, callback};
    }
    return forward_call("cudnnSetCallback", real().cudnnSetCallback, mask, udata, callback);
}

namespace {

void give_last_error(char *text, std::size_t bytes) {
    enter("cudnnGetLastErrorString");
    // Reads the real library's away too: where there is one of ours, it is older.
    real().cudnnGetLastErrorString(text, bytes);
    if (last_error.empty()) return;
    if (bytes > 0) {
        const std::size_t length = std::min(bytes - 1, last_error.size());
        std::memcpy(text, last_error.data(), length);
        text[length] = '\0';
    }
    last_error.clear();
}

} // namespace

// Found by dlsym only where the real release has the function: what the resolver answers is what
// dlsym answers.
extern "C" {
static abi::cudnnGetLastErrorString *find_last_error() {
    return real().cudnnGetLastErrorString != nullptr ? give_last_error : nullptr;
}
void cudnnGetLastErrorString(char *, std::size_t) __attribute__((ifunc("find_last_error")));
}
