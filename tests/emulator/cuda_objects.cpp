// What exists, and what is said when the rules are broken.
#include "objects.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <unistd.h>

namespace emulator {

namespace {

struct Store {
    std::mutex mutex;
    std::map<std::pair<const void *, std::string>, bool> objects; // reported as left behind?
};

Store &store() {
    static Store &only = *new Store;
    return only;
}

} // namespace

void violation(const char *function, const std::string &what) {
    const std::string line = std::string(function) + ": " + what + '\n';
    std::fprintf(stderr, "emulator: %s", line.c_str());
    const char *path = std::getenv("PYHARNESS_EMULATOR_REPORT");
    if (path == nullptr || *path == '\0') return;
    // One write for a line, so that lines of several processes do not mix.
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        std::fprintf(stderr, "emulator: the report %s cannot be written\n", path);
    if (file >= 0) close(file);
}

void created(const char *kind, const void *object) {
    const std::lock_guard<std::mutex> lock(store().mutex);
    store().objects[{object, kind}] = false;
}

bool exists(const char *kind, const void *object) {
    const std::lock_guard<std::mutex> lock(store().mutex);
    return store().objects.count({object, kind}) == 1;
}

bool destroyed(const char *function, const char *kind, const void *object) {
    {
        const std::lock_guard<std::mutex> lock(store().mutex);
        if (store().objects.erase({object, kind}) == 1) return true;
    }
    violation(function, std::string("there is no such ") + kind);
    return false;
}

void report_left(const char *function) {
    std::map<std::string, int> left;
    {
        const std::lock_guard<std::mutex> lock(store().mutex);
        for (auto &[object, reported] : store().objects) {
            if (!reported) ++left[object.second];
            reported = true;
        }
    }
    for (const auto &[kind, count] : left)
        violation(function, std::to_string(count) + " " + kind + " not destroyed");
}

} // namespace emulator
