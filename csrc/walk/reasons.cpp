#include "walk/reasons.hpp"

#include <cstring>

namespace pyharness {

namespace {

// The callback runs on the thread that made the call.
thread_local std::string heard;

// The message is a sequence of C strings that ends with an empty one.
void on_message(abi::Enum, void *, const abi::DebugInfo *, const char *message) {
    static constexpr char mark[] = "Reason: ";
    for (const char *line = message; *line != '\0'; line += std::strlen(line) + 1) {
        const char *reason = std::strstr(line, mark);
        if (reason == nullptr) continue;
        reason += sizeof(mark) - 1;
        std::size_t length = std::strlen(reason);
        while (length > 0 && (reason[length - 1] == '\n' || reason[length - 1] == ' '))
            --length;
        const std::string text(reason, length);
        // A refusal deep inside is reported again by each level above it.
        if (heard.find(text) == std::string::npos) heard += heard.empty() ? text : "; " + text;
    }
}

void last_error(const Api &api, std::string &text) {
    if (api.cudnnGetLastErrorString == nullptr) return;
    char buffer[4096] = "";
    api.cudnnGetLastErrorString(buffer, sizeof(buffer));
    buffer[sizeof(buffer) - 1] = '\0';
    text = buffer;
}

} // namespace

ReasonCapture::ReasonCapture(const Api &api) : api_(api) {
    api_.cudnnSetCallback(abi::kErrorEnabled | abi::kWarningEnabled, nullptr, on_message);
}

void ReasonCapture::clear() {
    heard.clear();
    // 9.x shows a text that nobody has read yet, however old: read it away.
    std::string stale;
    last_error(api_, stale);
}

std::string ReasonCapture::take() {
    if (heard.empty()) last_error(api_, heard);
    return heard;
}

} // namespace pyharness
