#include "cudnn_damage.hpp"
#include "cudnn_types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emulator {

namespace {

bool to_buffer(const std::string &kind) {
    for (const char *known : {"overrun", "underrun", "nan", "flip", "unwritten"})
        if (kind == known) return true;
    return false;
}

const Buffer *named(const std::string &name, const std::vector<Buffer> &buffers) {
    const auto found = std::find_if(buffers.begin(), buffers.end(),
                                    [&](const Buffer &b) { return b.name == name && b.written; });
    return found != buffers.end() ? &*found : nullptr;
}

// Changes a byte whatever it was; where no memory is, a device would fault.
void spoil(char *byte) {
    if (room(byte) == 0) stick(abi::kCudaIllegalAddress);
    else *byte = static_cast<char>(*byte ^ 0xff);
}

} // namespace

void check_damage(const Due &due, const char *function, const std::vector<Buffer> &buffers) {
    if (!to_buffer(due.kind) || named(due.argument, buffers) != nullptr) return;
    std::fprintf(stderr, "emulator: fault %s: this call of %s writes no %s\n", due.kind.c_str(),
                 function, due.argument.c_str());
    std::_Exit(2);
}

Damage::Damage(const std::vector<Due> &due, const std::vector<Buffer> &buffers) {
    for (const Due &each : due) {
        if (!to_buffer(each.kind)) continue;
        One one{each.kind, *named(each.argument, buffers), {}};
        if (one.kind == "unwritten") {
            const auto *bytes = static_cast<const char *>(one.buffer.pointer);
            one.before.assign(bytes, bytes + one.buffer.bytes);
        }
        ones_.push_back(std::move(one));
    }
}

void Damage::inflict() const {
    for (const One &one : ones_) {
        char *begin = static_cast<char *>(one.buffer.target());
        char *value = begin + one.buffer.first;
        const std::size_t element = element_bytes(one.buffer.data_type);
        const double nan = NAN;
        if (one.kind == "overrun") spoil(begin + one.buffer.bytes);
        if (one.kind == "underrun") spoil(begin - 1);
        if (one.kind == "nan") store(one.buffer.data_type, &nan, 1, value);
        // The highest bit of the exponent.
        if (one.kind == "flip") value[element - 1] = static_cast<char>(value[element - 1] ^ 0x40);
        if (one.kind == "unwritten") std::memcpy(begin, one.before.data(), one.before.size());
    }
}

} // namespace emulator
