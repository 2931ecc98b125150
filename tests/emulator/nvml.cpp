// The emulated libnvidia-ml: the cards of the settings, and of their state what libcuda wrote to
// the state file. Source: NVML's reference.
#include "state.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using emulator::CardState;
using emulator::State;

using Result = int; // nvmlReturn_t
using Device = void *;

constexpr Result kSuccess = 0;
constexpr Result kUninitialized = 1;
constexpr Result kInvalidArgument = 2;
constexpr Result kNotSupported = 3;
constexpr Result kNotFound = 6;
constexpr Result kInsufficientSize = 7;
constexpr Result kDriverNotLoaded = 9;

constexpr int kClockGraphics = 0, kClockSm = 1, kClockMemory = 2; // nvmlClockType_t

int users = 0;
char handles[emulator::kMaxCards]; // their addresses are the handles

// Of a card on which nothing ran yet.
const CardState &idle() {
    static const CardState &only = *[] {
        auto *made = new CardState;
        made->show_idle();
        return made;
    }();
    return only;
}

// The state file, as soon as there is one.
const State *state() {
    static const State *found = nullptr;
    const char *path = std::getenv("PYHARNESS_EMULATOR_STATE");
    if (found != nullptr || path == nullptr) return found;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return nullptr;
    struct stat status = {};
    if (fstat(file, &status) == 0 && status.st_size >= static_cast<off_t>(sizeof(State))) {
        void *memory = mmap(nullptr, sizeof(State), PROT_READ, MAP_SHARED, file, 0);
        if (memory != MAP_FAILED) found = static_cast<const State *>(memory);
    }
    close(file);
    return found;
}

int ordinal_of(Device device) {
    for (int ordinal = 0; ordinal < emulator::card_count(); ++ordinal)
        if (device == &handles[ordinal]) return ordinal;
    return -1;
}

// An answer about a card: `read` takes its state.
template <class Value, class Read> Result about(Device device, Value *value, Read read) {
    if (users == 0) return kUninitialized;
    const int ordinal = ordinal_of(device);
    if (ordinal < 0 || value == nullptr) return kInvalidArgument;
    const State *shown = state();
    const bool written = shown != nullptr && shown->cards[ordinal].written != 0;
    *value = read(written ? shown->cards[ordinal] : idle());
    return kSuccess;
}

Result copy_text(const std::string &text, char *to, unsigned bytes) {
    if (to == nullptr) return kInvalidArgument;
    if (text.size() >= bytes) return kInsufficientSize;
    std::memcpy(to, text.c_str(), text.size() + 1);
    return kSuccess;
}

// NVML writes the domain of a bus id with eight digits, and takes it with any number of them.
std::string without_domain(const std::string &bus_id) {
    const std::size_t colon = bus_id.find(':');
    std::string rest = colon == std::string::npos ? "" : bus_id.substr(colon);
    std::transform(rest.begin(), rest.end(), rest.begin(), ::toupper);
    return rest;
}

} // namespace

// One function of NVML. Its enumerations travel as int.
#define NVML extern "C" EMULATOR_API

NVML Result nvmlInitWithFlags(unsigned) {
    if (emulator::card_count() == 0) return kDriverNotLoaded;
    ++users;
    return kSuccess;
}

NVML Result nvmlInit_v2() { return nvmlInitWithFlags(0); }

NVML Result nvmlShutdown() {
    if (users == 0) return kUninitialized;
    --users;
    return kSuccess;
}

NVML Result nvmlDeviceGetCount_v2(unsigned *count) {
    if (users == 0) return kUninitialized;
    if (count == nullptr) return kInvalidArgument;
    *count = static_cast<unsigned>(emulator::card_count());
    return kSuccess;
}

NVML Result nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device) {
    if (users == 0) return kUninitialized;
    if (device == nullptr || index >= static_cast<unsigned>(emulator::card_count()))
        return kInvalidArgument;
    *device = &handles[index];
    return kSuccess;
}

NVML Result nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, Device *device) {
    if (users == 0) return kUninitialized;
    if (bus_id == nullptr || device == nullptr) return kInvalidArgument;
    for (int ordinal = 0; ordinal < emulator::card_count(); ++ordinal) {
        if (without_domain(emulator::card_bus_id(ordinal)) != without_domain(bus_id)) continue;
        *device = &handles[ordinal];
        return kSuccess;
    }
    return kNotFound;
}

NVML Result nvmlDeviceGetName(Device device, char *name, unsigned bytes) {
    if (users == 0) return kUninitialized;
    if (ordinal_of(device) < 0) return kInvalidArgument;
    return copy_text(emulator::card_name(), name, bytes);
}

NVML Result nvmlDeviceGetClockInfo(Device device, int kind, unsigned *mhz) {
    if (kind < kClockGraphics || kind > kClockMemory) return kNotSupported;
    return about(device, mhz, [&](const CardState &card) -> unsigned {
        return kind == kClockMemory ? card.memory_clock_mhz : card.sm_clock_mhz;
    });
}

NVML Result nvmlDeviceGetTemperature(Device device, int sensor, unsigned *degrees) {
    if (sensor != 0) return kNotSupported;
    return about(device, degrees,
                 [](const CardState &card) -> unsigned { return card.temperature_c; });
}

NVML Result nvmlDeviceGetPowerUsage(Device device, unsigned *milliwatts) {
    return about(device, milliwatts,
                 [](const CardState &card) -> unsigned { return card.power_mw; });
}

NVML Result nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long *reasons) {
    return about(device, reasons,
                 [](const CardState &card) -> unsigned long long { return card.reasons; });
}

NVML Result nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long *reasons) {
    return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}

NVML Result nvmlSystemGetDriverVersion(char *version, unsigned bytes) {
    if (users == 0) return kUninitialized;
    const int number = emulator::driver_version();
    return copy_text("emulated." + std::to_string(number), version, bytes);
}

NVML const char *nvmlErrorString(Result result) {
    switch (result) {
    case kSuccess: return "Success";
    case kUninitialized: return "Uninitialized";
    case kInvalidArgument: return "Invalid Argument";
    case kNotSupported: return "Not Supported";
    case kNotFound: return "Not Found";
    case kInsufficientSize: return "Insufficient Size";
    case kDriverNotLoaded: return "Driver Not Loaded";
    default: return "Unknown Error";
    }
}
