// What the fake library says of itself, how it refuses, and how it misbehaves: see fake_cudnn.cpp.
#pragma once

#include "abi/functions.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace fake {

using namespace pyharness::abi;

inline Callback callback = nullptr;
inline void *callback_data = nullptr;
inline std::string last_error;

inline const char *setting(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

inline std::size_t version() {
    static const char *const said = setting("FAKE_CUDNN_VERSION");
    return said != nullptr ? std::strtoull(said, nullptr, 10) : 91300;
}

inline Status bad_param() { return version() < 90000 ? 3 : 2000; }
inline Status not_supported() { return version() < 90000 ? 9 : 3000; }

inline void maybe_abort(const char *function) {
    static const char *const named = setting("FAKE_CUDNN_ABORT_IN");
    if (named == nullptr || std::strcmp(named, function) != 0) return;
    std::fprintf(stderr, "%s ends the process\n", function);
    std::abort();
}

inline void maybe_linger(const char *function) {
    static const char *const named = setting("FAKE_CUDNN_SLOW_IN");
    if (named != nullptr && std::strcmp(named, function) == 0) usleep(2'000'000);
}

// One write for a line, so that lines of several processes do not mix. Timing repeats its calls
// without end: no process writes more than 20,000 lines.
inline void log_call(const std::string &function, const std::string &arguments) {
    static const char *const path = setting("FAKE_CUDNN_LOG");
    static int lines = 0;
    if (path == nullptr || ++lines > 20000) return;
    static const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const std::string line = std::to_string(getpid()) + ' ' + function + ' ' + arguments + '\n';
    if (write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

// Reports as cuDNN does: C strings one after the other, an empty one at the end; and again, word
// for word, from the level above.
inline Status refuse(Status status, const char *function, const std::string &reason) {
    if (reason.empty()) return status;
    static const bool silent = setting("FAKE_CUDNN_SILENT") != nullptr;
    if (status == bad_param()) last_error = reason; // like 9.x: not for what is not supported
    if (callback == nullptr || silent) return status;
    std::string message =
        "CuDNN (v" + std::to_string(version()) + " 42) function " + function + "() called:";
    message += '\0';
    message += "        Error: status " + std::to_string(status) + "; Reason: " + reason + "\n ";
    message += '\0';
    message += "        Error: status " + std::to_string(status) + "; Reason: " + reason;
    message += '\0';
    message += "Process=1; Thread=1; GPU=NULL; Handle=NULL; StreamId=NULL.";
    message += '\0';
    message += '\0';
    callback(1, callback_data, nullptr, message.data());
    return status;
}

inline std::string list(const int *values, int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
        text += (i > 0 ? "," : "") + std::to_string(values[i]);
    return text;
}

inline bool echoes(const char *function) {
    static const char *const named = setting("FAKE_CUDNN_ECHO");
    return named != nullptr && std::strcmp(named, function) == 0;
}

// The values of hidden_size that do harm. Returns whether the answer is already decided.
inline bool misbehaves(Enum algo, std::int32_t hidden_size, std::int32_t num_layers, bool &forgets,
                       Status &answer) {
    static const bool tame = setting("FAKE_CUDNN_TAME") != nullptr;
    static const char *const hang_algo = setting("FAKE_CUDNN_HANG_ALGO");
    static unsigned asked = 0;
    if (tame || (hang_algo != nullptr && hidden_size != 667)) return false;
    switch (hidden_size) {
    case 666: std::raise(SIGSEGV); return true; // a null pointer does not fault on every machine
    case 667:
        if (hang_algo != nullptr && std::atoi(hang_algo) != algo) return false;
        for (;;)
            pause();
    case 668: std::fputs("Could not load library libfake_part.so.8\n", stderr); std::abort();
    case 669: std::_Exit(7);
    case 670: // numbers that no release has a name for
        answer = num_layers == 1   ? 12345
                 : num_layers == 2 ? 7777
                 : num_layers == 3 ? -5
                                   : 20000 + num_layers;
        return true;
    case 671: answer = asked++ % 2 == 0 ? kSuccess : bad_param(); return true;
    case 672: forgets = true; return false;
    case 673:
        for (int i = 0; i < 4000; ++i) {
            std::fprintf(stdout, "noise on stdout %d\n", i);
            std::fprintf(stderr, "noise on stderr %d\n", i);
        }
        std::fflush(stdout);
        return false;
    default: return false;
    }
}

} // namespace fake
