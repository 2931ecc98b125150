// cudnnGetRNNWeightParams: where a matrix and its bias lie.
#include "cudnn_call.hpp"
#include "cudnn_handle.hpp"
#include "cudnn_real.hpp"
#include "cudnn_sizes.hpp"
#include "cudnn_types.hpp"

using namespace emulator;

namespace {

// Describes a part as [1, rows, cols], or as one without dimensions where it does not exist.
// Without a weight space its address is the offset in one.
void describe(const Part &part, const RnnDescriptor &rnn, const void *weight_space,
              abi::Descriptor tensor, void **address) {
    *address = nullptr;
    if (part.rows == 0) {
        absent().change(tensor, [](bool &is) { is = true; });
        return;
    }
    const int dims[] = {1, part.rows, part.cols};
    const int strides[] = {part.rows * part.cols, part.cols, 1};
    real().cudnnSetTensorNdDescriptor(tensor, rnn.data_type, 3, dims, strides);
    absent().forget(tensor);
    *address = reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(weight_space) +
                                        part.offset * element_bytes(rnn.data_type));
}

} // namespace

abi::Status cudnnGetRNNWeightParams(abi::Handle handle, abi::Descriptor rnn,
                                    std::int32_t pseudo_layer, std::size_t weight_space_bytes,
                                    const void *weight_space, std::int32_t lin_layer_id,
                                    abi::Descriptor matrix, void **matrix_address,
                                    abi::Descriptor bias, void **bias_address) {
    return call("cudnnGetRNNWeightParams", [&](const Faults &) {
        state_of(handle);
        const RnnDescriptor read = read_rnn(rnn);
        check_network(read);
        const Network network = read.network();
        refuse_if(pseudo_layer < 0 || pseudo_layer >= network.pseudo_layers(), "BAD_PARAM",
                  "pseudoLayer is out of range");
        refuse_if(lin_layer_id < 0 || lin_layer_id > 8, "BAD_PARAM",
                  "linLayerID < 0 || linLayerID > 8");
        refuse_if(matrix == nullptr || bias == nullptr || matrix_address == nullptr ||
                      bias_address == nullptr,
                  "BAD_PARAM", "!mDesc || !mAddr || !bDesc || !bAddr");
        for (const abi::Descriptor tensor : {matrix, bias})
            forbid_if(!exists(kTensorKind, tensor), "this is no tensor descriptor, or destroyed");
        const std::size_t needed = emulator::weight_space_bytes(read);
        forbid_if(weight_space_bytes != needed, "the weight space has " + std::to_string(needed) +
                                                    " bytes, " +
                                                    std::to_string(weight_space_bytes) + " given");
        forbid_if(weight_space != nullptr && room(weight_space) < needed,
                  "no allocation covers the weight space");
        Part found[2] = {{pseudo_layer, lin_layer_id, false, 0, 0, 0},
                         {pseudo_layer, lin_layer_id, true, 0, 0, 0}};
        for (const Part &part : parts(network))
            if (part.pseudo_layer == pseudo_layer && part.lin_layer_id == lin_layer_id)
                found[part.matrix ? 1 : 0] = part;
        describe(found[1], read, weight_space, matrix, matrix_address);
        describe(found[0], read, weight_space, bias, bias_address);
    });
}
