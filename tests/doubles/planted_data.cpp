// The fake library with changes planted in one call, for what an upgrade must find: REFUSES,
// ACCEPTS, CRASHES and RESTATES, any of them.
#define cudnnSetRNNDataDescriptor unplanted
#include "fake_cudnn.cpp"
#undef cudnnSetRNNDataDescriptor

#include <cstdlib>

extern "C" Status cudnnSetRNNDataDescriptor(Descriptor descriptor, Enum data_type, Enum layout,
                                            int max_seq_length, int batch_size, int vector_size,
                                            const int *seq_lengths, void *padding_fill) {
    Status said = ::unplanted(descriptor, data_type, layout, max_seq_length, batch_size,
                              vector_size, seq_lengths, padding_fill);
#ifdef REFUSES
    if (said == kSuccess && data_type == 1 && batch_size == 2)
        return refuse(not_supported(), "cudnnSetRNNDataDescriptor", "double in batches of two");
#endif
#ifdef ACCEPTS
    if (said == not_supported()) return kSuccess;
#endif
#ifdef CRASHES
    if (said == kSuccess && data_type == 2 && max_seq_length == 16 && batch_size == 1 &&
        layout == 2 && vector_size == 64 && padding_fill != nullptr)
        std::abort();
#endif
#ifdef RESTATES
    if (said == not_supported()) said = bad_param();
#endif
    return said;
}
