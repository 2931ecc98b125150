// Objects that must not be left behind, and handles that are never given out twice.
#pragma once

#include "device.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace emulator {

// A violation for each kind of object that created() told of and that still exists.
void report_left(const char *function);

// Objects of one kind by handle. A handle is a number, not an address: one that was destroyed is
// known as such for ever, and nobody can look behind it.
template <class Object> class Handles {
  public:
    void *add(std::shared_ptr<Object> object) {
        static std::atomic<std::uintptr_t> last{0};
        void *handle = reinterpret_cast<void *>((++last << 8) | Object::kTag);
        objects_.emplace(handle, std::move(object));
        return handle;
    }
    std::shared_ptr<Object> find(const void *handle) const {
        const auto found = objects_.find(handle);
        return found == objects_.end() ? nullptr : found->second;
    }
    void remove(const void *handle) { objects_.erase(handle); }

    // Removes what belongs to a context; how many that were.
    template <class Context> std::size_t remove_of(const Context *context) {
        std::size_t count = 0;
        for (auto each = objects_.begin(); each != objects_.end();) {
            const bool its = each->second->context == context;
            each = its ? objects_.erase(each) : std::next(each);
            count += its ? 1U : 0U;
        }
        return count;
    }
    template <class Visit> void each(Visit visit) const {
        for (const auto &[handle, object] : objects_)
            visit(*object);
    }

  private:
    std::unordered_map<const void *, std::shared_ptr<Object>> objects_;
};

} // namespace emulator
