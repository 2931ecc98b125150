// What device.hpp lends to the emulated libcudnn, for a test that speaks C.
#include "device.hpp"

#include <cstring>

extern "C" {

// A pass that writes what it is called at the end of a list of `most` numbers; [0] counts them.
EMULATOR_API bool probe_pass(void *stream, double cost_ns, double cold_ns, int *list, int most,
                             int name) {
    return emulator::enqueue(stream, cost_ns, cold_ns, [=] {
        if (list[0] < most - 1) list[++list[0]] = name;
    });
}

EMULATOR_API bool probe_sticky_pass(void *stream) {
    return emulator::enqueue(stream, 1, 0,
                             [] { emulator::stick(pyharness::abi::kCudaIllegalAddress); });
}

EMULATOR_API std::size_t probe_room(const void *pointer) { return emulator::room(pointer); }
EMULATOR_API bool probe_usable() { return emulator::usable(); }
EMULATOR_API bool probe_capturing(void *stream) { return emulator::capturing(stream); }
EMULATOR_API void probe_spoil(void *stream) { emulator::spoil_capture(stream); }
EMULATOR_API void probe_created(const void *object) { emulator::created("handle", object); }
EMULATOR_API bool probe_destroyed(const void *object) {
    return emulator::destroyed("probe", "handle", object);
}
EMULATOR_API void probe_configure(const char *text) { emulator::configure(text); }
EMULATOR_API double probe_number(const char *key, double otherwise) {
    return emulator::number(key, otherwise);
}

// "kind:argument" of what is due, separated by blanks.
EMULATOR_API void probe_enter(const char *function, char *answer, std::size_t bytes) {
    std::string text;
    for (const emulator::Due &due : emulator::enter(function))
        text += (text.empty() ? "" : " ") + due.kind + ':' + due.argument;
    std::strncpy(answer, text.c_str(), bytes - 1);
}
}
