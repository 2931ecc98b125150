// The descriptors of one problem, made and set in the documented order.
#pragma once

#include "rnn/handle.hpp"
#include "rnn/settings.hpp"

#include <optional>

namespace pyharness {

class Descriptors {
  public:
    explicit Descriptors(Handle &handle) : handle_(handle) {}
    ~Descriptors() { destroy(); }
    Descriptors(const Descriptors &) = delete;
    Descriptors &operator=(const Descriptors &) = delete;

    // Each of these makes the calls of one stage; false at the first that is refused.
    bool make_dropout();
    bool dropout_states_bytes(std::size_t &bytes);
    bool set_dropout(const Settings &settings, abi::CuPointer states, std::size_t bytes);
    bool make_rnn(const Settings &settings);
    bool make_data(const Settings &settings);
    bool make_states(const Settings &settings);
    // Two more, for the shapes that cudnnGetRNNWeightParams answers.
    bool make_parts();

    // Destroys the youngest first; the first refusal is answered, and the rest destroyed all the
    // same.
    std::optional<CallRecord> destroy() noexcept;

    abi::Descriptor dropout = nullptr, rnn = nullptr, x = nullptr, y = nullptr, h = nullptr,
                    c = nullptr; // c is null where the cell has no such state
    abi::Descriptor matrix = nullptr, bias = nullptr;

  private:
    using Create = abi::Status(abi::Descriptor *);
    using Destroy = abi::Status(abi::Descriptor);
    struct Made {
        abi::Descriptor descriptor;
        const char *destroy_name;
        Destroy *destroy;
    };

    bool create(const char *name, Create *make, const char *destroy_name, Destroy *end,
                abi::Descriptor &descriptor);
    bool clip(const Settings &settings);
    bool set_data(const Settings &settings, abi::Descriptor &data, int vector_size);
    bool set_state(const Settings &settings, abi::Descriptor &state, int width);

    Handle &handle_;
    std::vector<Made> made_;
};

} // namespace pyharness
