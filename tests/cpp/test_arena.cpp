// Driver, context, arena and guard bands on the emulated driver, where device memory is host
// memory.
#include "check.hpp"
#include "cuda/arena.hpp"
#include "cuda/carving.hpp"
#include "cuda/objects.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>

using namespace pyharness;

namespace {

constexpr std::size_t kMemory = 1 << 30;

unsigned char *bytes(abi::CuPointer address) { return reinterpret_cast<unsigned char *>(address); }

void names_what_cannot_be_opened() {
    CHECK(check::throws<LoadError>([] { Driver("/nowhere/libcuda.so.1"); }, "/nowhere"));
    CHECK(check::throws<LoadError>([] { Driver("libm.so.6"); }, "libm.so.6: has no cuInit, "));
}

void says_which_call_failed(const Driver &driver) {
    CHECK(driver.emulated());
    CHECK_EQUAL(driver.version(), 12080);
    CHECK_EQUAL(driver.device_count(), 1);
    try {
        Context(driver, 5);
        CHECK(false);
    } catch (const CudaError &error) {
        CHECK_EQUAL(error.call, "cuDeviceGet");
        CHECK_EQUAL(error.code, abi::kCudaInvalidDevice);
        CHECK_EQUAL(error.name, "CUDA_ERROR_INVALID_DEVICE");
        CHECK(!error.text.empty());
    }
}

void reads_the_facts(const Driver &driver) {
    const Context context(driver, 0);
    const DeviceFacts facts = context.facts();
    CHECK_EQUAL(facts.compute_capability, "8.0");
    CHECK_EQUAL(facts.memory_bytes, kMemory);
    CHECK_EQUAL(facts.multiprocessors, 108);
    CHECK_EQUAL(facts.l2_bytes, 41943040);
    CHECK_EQUAL(facts.driver_version, 12080);
    CHECK(!facts.name.empty() && !facts.pci_bus_id.empty());
}

void grows_and_is_reused(const Driver &driver) {
    Context context(driver, 0);
    const std::size_t free = context.free_bytes();
    Arena arena(context);
    CHECK_EQUAL(arena.capacity(), 0);
    const abi::CuPointer first = arena.buffers.need(1000);
    CHECK_EQUAL(first % Carving::kAlignment, 0);
    CHECK_EQUAL(arena.buffers.need(1000), first);
    CHECK_EQUAL(arena.buffers.need(10), first); // it does not shrink
    CHECK_EQUAL(arena.capacity(), 1000);
    arena.buffers.need(5000);
    CHECK_EQUAL(arena.capacity(), 5000);
    arena.dropout_states.need(100);
    CHECK_EQUAL(arena.capacity(), 5100);
    // The old one is given back before the new one is taken: together they would not fit.
    arena.buffers.need(kMemory / 3 * 2);
    arena.buffers.need(kMemory / 4 * 3);
    arena.release();
    CHECK_EQUAL(arena.capacity(), 0);
    CHECK_EQUAL(context.free_bytes(), free);
}

void refuses_what_does_not_fit(const Driver &driver) {
    Context context(driver, 0);
    Arena arena(context);
    const abi::CuPointer held = arena.buffers.need(1 << 20);
    const std::size_t free = context.free_bytes();
    CHECK(arena.buffers.fits(free + (1 << 20)));
    CHECK(!arena.buffers.fits(free + (1 << 20) + 1));
    try {
        arena.buffers.need(kMemory + 1);
        CHECK(false);
    } catch (const OutOfMemory &error) {
        CHECK_EQUAL(error.asked_bytes, kMemory + 1);
        CHECK_EQUAL(error.free_bytes, free + (1 << 20)); // what it holds could be given back
    }
    CHECK_EQUAL(arena.buffers.need(1), held); // nothing was tried
    CHECK_EQUAL(arena.capacity(), 1 << 20);
}

void lends_to_one_plan_at_a_time(const Driver &driver) {
    Context context(driver, 0);
    Arena arena(context);
    const int one = 0, other = 0;
    arena.lend(&one);
    arena.lend(&one);
    CHECK(check::throws<std::logic_error>([&] { arena.lend(&other); }, "another plan"));
    CHECK(check::throws<std::logic_error>([&] { arena.release(); }, "another plan"));
    arena.take_back(&other); // it had nothing
    CHECK(check::throws<std::logic_error>([&] { arena.lend(&other); }, "another plan"));
    arena.take_back(&one);
    arena.lend(&other);
}

void closes_what_lives_in_it_first(const Driver &driver) {
    struct Guest : Tenant {
        Guest(Context &context, std::string &log_, char name_)
            : Tenant(context), log(log_), name(name_) {}
        ~Guest() override = default;
        void leave() noexcept override { log += name; }
        std::string &log;
        char name;
    };
    std::string log;
    Context context(driver, 0);
    Arena arena(context);
    arena.buffers.need(1000);
    Guest first(context, log, '1');
    {
        Guest gone(context, log, 'x');
    }
    Guest second(context, log, '2');
    context.close();
    CHECK_EQUAL(log, "21"); // the youngest first, and not the one that has gone
    CHECK_EQUAL(arena.capacity(), 0);
    CHECK(check::throws<std::logic_error>([&] { context.free_bytes(); }, "closed"));
    CHECK(check::throws<std::logic_error>([&] { Arena late(context); }, "closed"));
    context.close(); // again does nothing
    CHECK_EQUAL(log, "21");
}

// Three buffers, 256-byte aligned, whose guard bands do not touch.
Carving three() {
    Carving carving;
    carving.add("a", 300);
    carving.add("b", 0);
    carving.add("c", 256);
    return carving;
}

void carves_with_room_for_guards() {
    const Carving carving = three();
    std::size_t end = 0;
    for (const auto &buffer : carving.buffers()) {
        CHECK_EQUAL(buffer.offset % Carving::kAlignment, 0);
        CHECK(buffer.offset >= end + Carving::kGuardBytes);
        end = buffer.offset + buffer.bytes + Carving::kGuardBytes;
    }
    CHECK(carving.total_bytes() >= end);
    CHECK(carving.find("b") != nullptr && carving.find("d") == nullptr);
    Carving shifted(48);
    shifted.add("a", 300);
    shifted.add("b", 16);
    for (const auto &buffer : shifted.buffers())
        CHECK_EQUAL(buffer.offset % Carving::kAlignment, 48);
    CHECK(shifted.find("b")->offset >= shifted.find("a")->offset + 300 + 2 * Carving::kGuardBytes);
    CHECK(shifted.total_bytes() >= shifted.find("b")->offset + 16 + Carving::kGuardBytes);
    Carving endless;
    endless.add("a", std::size_t{0} - 1000);
    endless.add("b", std::size_t{0} - 1000);
    CHECK(endless.total_bytes() > std::size_t{0} - 2000);
}

void finds_every_byte_that_is_broken(const Driver &driver) {
    Context context(driver, 0);
    Arena arena(context);
    Carving carving = three();
    CHECK_EQUAL(carving.address("a"), 0);
    carving.place(driver, arena.buffers.need(carving.total_bytes()));
    CHECK(carving.broken().empty());
    std::memset(bytes(carving.address("a")), 0, 300); // its own bytes may change
    CHECK(carving.broken().empty());

    int missed = 0, misnamed = 0;
    for (const auto &buffer : carving.buffers())
        for (std::size_t i = 0; i < Carving::kGuardBytes; ++i)
            for (const bool behind : {false, true}) {
                unsigned char *start = bytes(carving.address(buffer.name));
                unsigned char *byte = behind ? start + buffer.bytes + i : start - 1 - i;
                *byte = static_cast<unsigned char>(*byte ^ 1);
                const auto found = carving.broken();
                const std::string words = buffer.name + ": byte " + std::to_string(i + 1) +
                                          (behind ? " behind the end" : " before the start");
                missed += found.size() != 1;
                misnamed += !found.empty() && found[0] != words;
            }
    CHECK_EQUAL(missed, 0);
    CHECK_EQUAL(misnamed, 0);
    CHECK(carving.broken().empty()); // each is told once
}

void tells_a_whole_run_of_bytes(const Driver &driver) {
    Context context(driver, 0);
    Arena arena(context);
    Carving carving = three();
    carving.place(driver, arena.buffers.need(carving.total_bytes()));
    // Whatever value a run of bytes is set to, no more than a third of them looks untouched.
    for (int value = 0; value < 256; ++value) {
        std::memset(bytes(carving.address("c")) + 256 + 8, value, 64);
        const auto found = carving.broken();
        CHECK_EQUAL(found.size(), 1);
        if (found.size() == 1) CHECK(found[0].find("c: byte ") == 0);
        const std::size_t count =
            std::strtoul(found[0].c_str() + found[0].find(", ") + 2, nullptr, 10);
        CHECK(count >= 43 && count <= 64);
    }
}

void moves_the_end_of_a_buffer(const Driver &driver) {
    Context context(driver, 0);
    Arena arena(context);
    Carving carving = three();
    carving.place(driver, arena.buffers.need(carving.total_bytes()));
    carving.resize("a", 100);
    CHECK(carving.broken().empty());
    bytes(carving.address("a"))[100] = 0;
    CHECK_EQUAL(carving.broken().at(0), "a: byte 1 behind the end");
    carving.resize("a", 300);
    CHECK(carving.broken().empty());
    std::memset(bytes(carving.address("a")), 0, 300);
    CHECK(carving.broken().empty());
    CHECK(check::throws<std::logic_error>([&] { carving.resize("a", 301); }, "no room"));
}

void times_between_events(const Driver &driver) {
    Context context(driver, 0);
    Arena arena(context);
    const abi::CuPointer memory = arena.buffers.need(1 << 20);
    const Stream stream(driver);
    const Event start(driver), end(driver);
    start.record(stream.get());
    stream.fill(memory, 7, 1 << 20); // 1e12 bytes a second
    end.record(stream.get());
    end.synchronize();
    CHECK(std::abs(end.seconds_since(start) - 1.048576e-6) < 1e-12);
    CHECK_EQUAL(bytes(memory)[(1 << 20) - 1], 7);

    stream.begin_capture();
    stream.fill(memory, 9, 1);
    const Graph graph(driver, stream.end_capture());
    stream.synchronize();
    CHECK_EQUAL(bytes(memory)[0], 7); // recorded, not run
    graph.launch(stream.get());
    stream.synchronize();
    CHECK_EQUAL(bytes(memory)[0], 9);
    CHECK(check::throws<CudaError>([&] { stream.end_capture(); }, "cuStreamEndCapture"));
}

} // namespace

int main(int, char **argv) {
    setenv("PYHARNESS_EMULATOR", ("memory_bytes=" + std::to_string(kMemory)).c_str(), 1);
    names_what_cannot_be_opened();
    const Driver driver(argv[1]);
    says_which_call_failed(driver);
    reads_the_facts(driver);
    grows_and_is_reused(driver);
    refuses_what_does_not_fit(driver);
    lends_to_one_plan_at_a_time(driver);
    closes_what_lives_in_it_first(driver);
    carves_with_room_for_guards();
    finds_every_byte_that_is_broken(driver);
    tells_a_whole_run_of_bytes(driver);
    moves_the_end_of_a_buffer(driver);
    times_between_events(driver);
    return check::result();
}
