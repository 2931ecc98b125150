// The fake library as what the emulated libcudnn asks about everything that is decided on the host.
#include "../doubles/fake_cudnn.cpp"

// A plan of these tests never clips.
extern "C" Status cudnnRNNGetClip_v8(Descriptor, Enum *mode, Enum *nan_opt, double *lclip,
                                     double *rclip) {
    *mode = *nan_opt = 0;
    *lclip = *rclip = 0;
    return kSuccess;
}
