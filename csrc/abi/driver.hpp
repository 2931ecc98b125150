// The functions of the CUDA driver (libcuda) that we call, declared by us, by the names that the
// library exports.
//
// Source: the CUDA driver API's reference. A name with _v2 is what the vendor's header turns the
// plain name into; the plain one is an older function.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pyharness::abi {

using CuResult = int;             // CUresult
using CuDevice = int;             // CUdevice
using CuPointer = std::uintptr_t; // CUdeviceptr
using CuContext = void *;         // CUcontext
using CuStream = void *;          // CUstream
using CuEvent = void *;           // CUevent
using CuGraph = void *;           // CUgraph
using CuGraphExec = void *;       // CUgraphExec

constexpr CuResult kCudaSuccess = 0;
constexpr CuResult kCudaInvalidValue = 1;
constexpr CuResult kCudaOutOfMemory = 2;
constexpr CuResult kCudaNotInitialized = 3;
constexpr CuResult kCudaNoDevice = 100;
constexpr CuResult kCudaInvalidDevice = 101;
constexpr CuResult kCudaInvalidContext = 201;
constexpr CuResult kCudaInvalidHandle = 400;
constexpr CuResult kCudaNotReady = 600;
constexpr CuResult kCudaIllegalAddress = 700;
constexpr CuResult kCudaStreamCaptureUnsupported = 900;
constexpr CuResult kCudaStreamCaptureInvalidated = 901;

// CUdevice_attribute
constexpr int kMultiprocessorCount = 16;
constexpr int kL2CacheBytes = 38;
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;

constexpr unsigned kStreamNonBlocking = 1;
constexpr int kCaptureThreadLocal = 1; // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

using cuInit = CuResult(unsigned flags);
using cuDriverGetVersion = CuResult(int *version);
using cuGetErrorName = CuResult(CuResult error, const char **name);
using cuGetErrorString = CuResult(CuResult error, const char **text);
using cuDeviceGetCount = CuResult(int *count);
using cuDeviceGet = CuResult(CuDevice *device, int ordinal);
using cuDeviceGetName = CuResult(char *name, int bytes, CuDevice device);
using cuDeviceGetAttribute = CuResult(int *value, int attribute, CuDevice device);
using cuDeviceTotalMem_v2 = CuResult(std::size_t *bytes, CuDevice device);
using cuDeviceGetPCIBusId = CuResult(char *id, int bytes, CuDevice device);
using cuDevicePrimaryCtxRetain = CuResult(CuContext *context, CuDevice device);
using cuDevicePrimaryCtxRelease_v2 = CuResult(CuDevice device);
using cuCtxSetCurrent = CuResult(CuContext context);
using cuCtxSynchronize = CuResult();
using cuMemGetInfo_v2 = CuResult(std::size_t *free, std::size_t *total);
using cuMemAlloc_v2 = CuResult(CuPointer *pointer, std::size_t bytes);
using cuMemFree_v2 = CuResult(CuPointer pointer);
using cuMemcpyHtoD_v2 = CuResult(CuPointer to, const void *from, std::size_t bytes);
using cuMemcpyDtoH_v2 = CuResult(void *to, CuPointer from, std::size_t bytes);
using cuMemsetD8Async = CuResult(CuPointer to, unsigned char value, std::size_t count,
                                 CuStream stream);
using cuStreamCreate = CuResult(CuStream *stream, unsigned flags);
using cuStreamDestroy_v2 = CuResult(CuStream stream);
using cuStreamSynchronize = CuResult(CuStream stream);
using cuStreamBeginCapture_v2 = CuResult(CuStream stream, int mode);
using cuStreamEndCapture = CuResult(CuStream stream, CuGraph *graph);
using cuGraphInstantiateWithFlags = CuResult(CuGraphExec *exec, CuGraph graph,
                                             unsigned long long flags);
using cuGraphLaunch = CuResult(CuGraphExec exec, CuStream stream);
using cuGraphExecDestroy = CuResult(CuGraphExec exec);
using cuGraphDestroy = CuResult(CuGraph graph);
using cuEventCreate = CuResult(CuEvent *event, unsigned flags);
using cuEventDestroy_v2 = CuResult(CuEvent event);
using cuEventRecord = CuResult(CuEvent event, CuStream stream);
using cuEventSynchronize = CuResult(CuEvent event);
using cuEventElapsedTime = CuResult(float *milliseconds, CuEvent from, CuEvent to);

// Every function above: a driver that lacks one is too old (CUDA 11.4 brought the last of them).
#define PYHARNESS_CUDA_FUNCTIONS(REQUIRED)                                                         \
    REQUIRED(cuInit)                                                                               \
    REQUIRED(cuDriverGetVersion)                                                                   \
    REQUIRED(cuGetErrorName)                                                                       \
    REQUIRED(cuGetErrorString)                                                                     \
    REQUIRED(cuDeviceGetCount)                                                                     \
    REQUIRED(cuDeviceGet)                                                                          \
    REQUIRED(cuDeviceGetName)                                                                      \
    REQUIRED(cuDeviceGetAttribute)                                                                 \
    REQUIRED(cuDeviceTotalMem_v2)                                                                  \
    REQUIRED(cuDeviceGetPCIBusId)                                                                  \
    REQUIRED(cuDevicePrimaryCtxRetain)                                                             \
    REQUIRED(cuDevicePrimaryCtxRelease_v2)                                                         \
    REQUIRED(cuCtxSetCurrent)                                                                      \
    REQUIRED(cuCtxSynchronize)                                                                     \
    REQUIRED(cuMemGetInfo_v2)                                                                      \
    REQUIRED(cuMemAlloc_v2)                                                                        \
    REQUIRED(cuMemFree_v2)                                                                         \
    REQUIRED(cuMemcpyHtoD_v2)                                                                      \
    REQUIRED(cuMemcpyDtoH_v2)                                                                      \
    REQUIRED(cuMemsetD8Async)                                                                      \
    REQUIRED(cuStreamCreate)                                                                       \
    REQUIRED(cuStreamDestroy_v2)                                                                   \
    REQUIRED(cuStreamSynchronize)                                                                  \
    REQUIRED(cuStreamBeginCapture_v2)                                                              \
    REQUIRED(cuStreamEndCapture)                                                                   \
    REQUIRED(cuGraphInstantiateWithFlags)                                                          \
    REQUIRED(cuGraphLaunch)                                                                        \
    REQUIRED(cuGraphExecDestroy)                                                                   \
    REQUIRED(cuGraphDestroy)                                                                       \
    REQUIRED(cuEventCreate)                                                                        \
    REQUIRED(cuEventDestroy_v2)                                                                    \
    REQUIRED(cuEventRecord)                                                                        \
    REQUIRED(cuEventSynchronize)                                                                   \
    REQUIRED(cuEventElapsedTime)

} // namespace pyharness::abi
