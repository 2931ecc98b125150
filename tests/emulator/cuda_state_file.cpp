#include "state_file.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace emulator {

namespace {

State *mapped(const char *path) {
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0 || ftruncate(file, sizeof(State)) != 0)
        refuse_setting(std::string("the state file ") + path + " cannot be written");
    void *memory = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        refuse_setting(std::string("the state file ") + path + " cannot be mapped");
    return static_cast<State *>(memory);
}

State &state() {
    const char *path = std::getenv("PYHARNESS_EMULATOR_STATE");
    static State &only = path != nullptr && *path != '\0' ? *mapped(path) : *new State;
    return only;
}

} // namespace

CardState &card_state(int ordinal) { return state().cards[ordinal]; }

} // namespace emulator
