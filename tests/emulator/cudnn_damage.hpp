// What a planted fault does to a pass' buffers.
#pragma once

#include "cudnn_pass.hpp"

namespace emulator {

// Ends the process if the fault names a buffer that this call does not have.
void check_damage(const Due &due, const char *function, const std::vector<Buffer> &buffers);

class Damage {
  public:
    // Before the work: keeps what is to stay unwritten.
    Damage(const std::vector<Due> &due, const std::vector<Buffer> &buffers);
    // After it.
    void inflict() const;

  private:
    struct One {
        std::string kind;
        Buffer buffer;
        std::vector<char> before;
    };
    std::vector<One> ones_;
};

} // namespace emulator
