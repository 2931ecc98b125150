// What the emulated libcuda lends to the emulated libcudnn: settings, faults, memory, streams and
// the virtual clock. Host memory stands for device memory; a stream keeps its work until somebody
// waits for it, so that reading too early reads what was there before.
#pragma once

#include "abi/driver.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#define EMULATOR_API __attribute__((visibility("default")))

namespace emulator {

// Adds `key=value` settings, separated by newlines or semicolons; later ones win, except `fault`,
// of which there may be several. Called with PYHARNESS_EMULATOR when libcuda is loaded, and with
// the file emulator.conf beside libcudnn when that is loaded. Ends the process with a word on
// stderr if a key is unknown or a value cannot be read.
EMULATOR_API void configure(const std::string &text);
EMULATOR_API std::optional<std::string> setting(const std::string &key);
EMULATOR_API double number(const std::string &key, double otherwise);

// A fault that is due in this call: kind and its argument, for example {"status", "BAD_PARAM"} or
// {"overrun", "y"}.
struct Due {
    std::string kind;
    std::string argument;
};
// Counts a call of `function` and says what is due. A crash, an abort, a hang or a slow answer
// happens in here.
EMULATOR_API std::vector<Due> enter(const char *function);

// Says that the rules were broken: a line on stderr and, where PYHARNESS_EMULATOR_REPORT names a
// file, one there: "function: what".
EMULATOR_API void violation(const char *function, const std::string &what);

// Objects that must be destroyed before the primary context goes: kind and address.
EMULATOR_API void created(const char *kind, const void *object);
// False, and a violation, if there is no such object of that kind.
EMULATOR_API bool destroyed(const char *function, const char *kind, const void *object);
EMULATOR_API bool exists(const char *kind, const void *object);

// Whether a context is current in this thread, and no error sticks to it.
EMULATOR_API bool usable();
// From now on every call on the context fails with this error.
EMULATOR_API void stick(pyharness::abi::CuResult error);

// Bytes from `pointer` to the end of the live allocation that holds it; 0 if none does.
EMULATOR_API std::size_t room(const void *pointer);

// Puts work at the end of a stream, or into the graph that the stream is captured to. `cost_ns` is
// its time on the virtual device; noise, drift, throttling, outliers and `slower` are added here,
// if it is more than 0: then it is a pass. `cold` is what a pass costs more after the L2 cache was
// flushed. False if the stream does not exist, or if its capture is spoiled already. A null stream
// is the context's own.
EMULATOR_API bool enqueue(void *stream, double cost_ns, double cold_ns, std::function<void()> work);
// Whether work of another stream of the context waits to be run.
EMULATOR_API bool busy_beside(void *stream);
// Whether the stream is being captured; and how a captured call spoils the capture.
EMULATOR_API bool capturing(void *stream);
EMULATOR_API void spoil_capture(void *stream);

} // namespace emulator
