// A problem's buffers in device memory, by name.
#pragma once

#include "cuda/arena.hpp"
#include "cuda/carving.hpp"
#include "cuda/objects.hpp"
#include "rnn/sizes.hpp"
#include "rnn/weights.hpp"

namespace pyharness {

class Buffers {
  public:
    // Every buffer lies `alignment` bytes behind a multiple of 256.
    Buffers(Context &context, std::size_t alignment)
        : context_(context), carving_(alignment), states_(alignment) {}

    // Takes the memory of the dropout descriptor's states. Throws OutOfMemory.
    abi::CuPointer take_dropout_states(Arena &arena, std::size_t bytes);

    // Takes the memory of all else, with room to flush the L2 cache where that fits too; without
    // `training` only what inference needs. Every byte is NaN until it is filled: what nobody has
    // written shows. Throws OutOfMemory.
    void take(Arena &arena, const Settings &settings, const Sizes &sizes, bool training,
              const Stream &stream);
    bool taken() const { return carving_.placed(); }

    // Fills the inputs and the weights from the seed. What is padding is filled too.
    void fill(const Settings &settings, const std::vector<WeightPart> &weights,
              const Stream &stream);

    // 0 if there is no such buffer.
    abi::CuPointer address(const std::string &name) const;
    // Throws std::invalid_argument if there is no such buffer.
    const Carving::Buffer &find(const std::string &name) const;
    std::vector<std::string> names() const;
    // Moves the guard band behind the workspace to what the next pass is told of it.
    void resize_workspace(std::size_t bytes) { carving_.resize("workspace", bytes); }
    // What has to be written so that nothing else is left in the L2 cache.
    std::size_t l2_flush_bytes() const {
        return 2 * static_cast<std::size_t>(context_.attribute(abi::kL2CacheBytes));
    }

    // Both wait for the device. Throw std::invalid_argument for what is not all of it, or for
    // reading beyond the end.
    void read(const std::string &name, std::size_t begin, void *to, std::size_t bytes) const;
    void write(const std::string &name, const void *from, std::size_t bytes) const;

    // See Carving::broken(); waits for the device.
    std::vector<std::string> broken_guards() const;

  private:
    const Carving &owner(const std::string &name) const;
    void fill_range(const Settings &settings, const std::string &seed_name, abi::CuPointer to,
                    std::size_t elements, double bound) const;

    Context &context_;
    Carving carving_, states_;
};

} // namespace pyharness
