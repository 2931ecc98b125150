// The bare limit: nested loops over the axes of a grid, nothing but the call in the innermost one.
// The axes come as preprocessor lists, so that the compiler sees what a hand-written loop would
// show.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>

using Set = int(void *, int, int, int, int, int, int, int, int, std::int32_t, std::int32_t,
                std::int32_t, std::int32_t, void *, std::uint32_t);
using Create = int(void **);

static const int algo[] = {AXIS_algo}, cell_mode[] = {AXIS_cell_mode},
                 bias_mode[] = {AXIS_bias_mode}, direction_mode[] = {AXIS_direction_mode},
                 input_mode[] = {AXIS_input_mode}, data_type[] = {AXIS_data_type},
                 math_prec[] = {AXIS_math_prec}, math_type[] = {AXIS_math_type},
                 input_size[] = {AXIS_input_size}, hidden_size[] = {AXIS_hidden_size},
                 proj_divisor[] = {AXIS_proj_divisor}, num_layers[] = {AXIS_num_layers},
                 aux_flags[] = {AXIS_aux_flags};

int main(int, char **argv) {
    void *library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    auto *set = reinterpret_cast<Set *>(dlsym(library, "cudnnSetRNNDescriptor_v8"));
    auto *create = reinterpret_cast<Create *>(dlsym(library, "cudnnCreateRNNDescriptor"));
    auto *create_dropout =
        reinterpret_cast<Create *>(dlsym(library, "cudnnCreateDropoutDescriptor"));
    void *rnn = nullptr;
    void *dropout = nullptr;
    if (create(&rnn) != 0 || create_dropout(&dropout) != 0) return 1;
    long calls = 0;
    volatile int sink = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int a : algo)
        for (int c : cell_mode)
            for (int b : bias_mode)
                for (int d : direction_mode)
                    for (int i : input_mode)
                        for (int t : data_type)
                            for (int p : math_prec)
                                for (int m : math_type)
                                    for (int x : input_size)
                                        for (int h : hidden_size)
                                            for (int q : proj_divisor)
                                                for (int l : num_layers)
                                                    for (int f : aux_flags) {
                                                        sink = set(rnn, a, c, b, d, i, t, p, m, x,
                                                                   h, h / q, l, dropout,
                                                                   static_cast<std::uint32_t>(f));
                                                        ++calls;
                                                    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    std::printf("%ld %.9f\n", calls, spent.count());
    return 0;
}
