#include "rnn/buffers.hpp"

#include "rnn/fill.hpp"

#include <algorithm>

namespace pyharness {

namespace {

constexpr std::size_t kChunkBytes = 4 << 20; // of host memory, for filling

bool is_input(const std::string &name) {
    static const char *const kInputs[] = {"x", "hx", "cx", "dy", "dhy", "dcy"};
    return std::find(std::begin(kInputs), std::end(kInputs), name) != std::end(kInputs);
}

bool is_gradient(const std::string &name) { return name.front() == 'd'; }

} // namespace

abi::CuPointer Buffers::take_dropout_states(Arena &arena, std::size_t bytes) {
    states_.add("dropout_states", bytes);
    states_.place(context_.driver(), arena.dropout_states.need(states_.total_bytes()));
    return states_.address("dropout_states");
}

void Buffers::take(Arena &arena, const Settings &settings, const Sizes &sizes, bool training,
                   const Stream &stream) {
    Carving carving(settings.alignment);
    for (const auto &[name, bytes] : tensor_bytes(settings))
        if (training || !is_gradient(name)) carving.add(name, bytes);
    carving.add("w", sizes.weight_space);
    if (training) carving.add("dw", sizes.weight_space);
    carving.add("workspace",
                std::max(sizes.inference_workspace, training ? sizes.training_workspace : 0));
    carving.add("reserve_space",
                std::max(sizes.inference_reserve_space, training ? sizes.reserve_space : 0));
    const std::size_t lengths = settings.seq_lengths.size() * sizeof(std::int32_t);
    carving.add("dev_seq_lengths", lengths);
    // A problem that just fits is not refused for a measurement's sake.
    Carving flushing = carving;
    flushing.add("l2_flush", l2_flush_bytes());
    if (arena.buffers.fits(flushing.total_bytes())) carving = std::move(flushing);

    const abi::CuPointer block = arena.buffers.need(carving.total_bytes());
    const Carving::Buffer *last = carving.find("l2_flush"); // nobody reads it
    stream.fill(block, 0xff, last != nullptr ? last->offset : carving.total_bytes());
    context_.synchronize();
    carving.place(context_.driver(), block);
    carving_ = std::move(carving);
    write("dev_seq_lengths", settings.seq_lengths.data(), lengths);
}

void Buffers::fill(const Settings &settings, const std::vector<WeightPart> &weights,
                   const Stream &stream) {
    // Between the parts of the weights there may be gaps: zero, as frameworks leave them.
    stream.fill(address("w"), 0, find("w").bytes);
    // Backward reads y as forward left it: NaN in padding that nobody fills is not what users have.
    if (!settings.padding_fill) stream.fill(address("y"), 0, find("y").bytes);
    context_.synchronize();
    const std::size_t element = element_bytes(settings.data_type);
    for (const auto &buffer : carving_.buffers())
        if (is_input(buffer.name))
            fill_range(settings, buffer.name, address(buffer.name), buffer.bytes / element, 1);
    for (const WeightPart &part : weights)
        fill_range(settings, part.name, address("w") + part.offset, part.elements(),
                   bound(part, settings));
    context_.synchronize();
}

void Buffers::fill_range(const Settings &settings, const std::string &seed_name, abi::CuPointer to,
                         std::size_t elements, double bound) const {
    const Uniform uniform(settings.seed, seed_name);
    const auto value = [&](std::uint64_t index) { return bound * uniform(index); };
    const std::size_t element = element_bytes(settings.data_type), most = kChunkBytes / element;
    // Doubles, so that it is aligned for every type.
    std::vector<double> chunk((std::min(elements, most) * element + 7) / sizeof(double));
    for (std::size_t first = 0; first < elements; first += most) {
        const std::size_t count = std::min(most, elements - first);
        convert(settings.data_type, value, first, count, chunk.data());
        context_.driver().copy_in(to + first * element, chunk.data(), count * element);
    }
}

const Carving &Buffers::owner(const std::string &name) const {
    for (const Carving *carving : {&carving_, &states_})
        if (carving->find(name) != nullptr && carving->placed()) return *carving;
    throw std::invalid_argument("no buffer is called " + name);
}

abi::CuPointer Buffers::address(const std::string &name) const {
    const abi::CuPointer here = carving_.address(name);
    return here != 0 ? here : states_.address(name);
}

const Carving::Buffer &Buffers::find(const std::string &name) const {
    return *owner(name).find(name);
}

std::vector<std::string> Buffers::names() const {
    std::vector<std::string> names;
    for (const Carving *carving : {&carving_, &states_})
        if (carving->placed())
            for (const auto &buffer : carving->buffers())
                names.push_back(buffer.name);
    return names;
}

void Buffers::read(const std::string &name, std::size_t begin, void *to, std::size_t bytes) const {
    const std::size_t size = find(name).bytes;
    if (begin > size || bytes > size - begin)
        throw std::invalid_argument(name + " has " + std::to_string(size) + " bytes, not " +
                                    std::to_string(bytes) + " from " + std::to_string(begin));
    context_.synchronize();
    if (bytes > 0) context_.driver().copy_out(to, owner(name).address(name) + begin, bytes);
}

void Buffers::write(const std::string &name, const void *from, std::size_t bytes) const {
    if (bytes != find(name).bytes)
        throw std::invalid_argument(name + " has " + std::to_string(find(name).bytes) +
                                    " bytes, not " + std::to_string(bytes));
    context_.synchronize();
    if (bytes > 0) context_.driver().copy_in(owner(name).address(name), from, bytes);
    context_.synchronize(); // the copy may still be on its way when the call has returned
}

std::vector<std::string> Buffers::broken_guards() const {
    context_.synchronize();
    std::vector<std::string> found;
    for (const Carving *carving : {&carving_, &states_})
        if (carving->placed())
            for (auto &words : carving->broken())
                found.push_back(std::move(words));
    return found;
}

} // namespace pyharness
