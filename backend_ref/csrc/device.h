// Devices: how many there are, which one is current on this thread, and the settings read from the environment.
#pragma once
#include <c10/core/Device.h>

#include <string>

namespace neuron {

constexpr c10::DeviceType kNeuron = c10::DeviceType::PrivateUse1;

// The name the device was registered under ("neuron", or what TORCH_AGNOSTIC_BACKEND asked for).
std::string device_name();

long number_setting(const char* name, long fallback);
std::string text_setting(const char* name, const char* fallback);
bool switch_setting(const char* name);

c10::DeviceIndex device_count();
c10::DeviceIndex current_device();
// Raises if the process has no such device.
void set_device(c10::DeviceIndex index);
void set_device_unchecked(c10::DeviceIndex index);
// Notes that the device is in use; raises in a process that was forked after that.
void use_device();
bool in_bad_fork();
bool in_use();
// Whether a thread that was not the first to use the device has used it too, as autograd's threads do.
bool used_by_other_threads();
inline c10::DeviceIndex or_current(c10::DeviceIndex index) { return index < 0 ? current_device() : index; }
inline c10::Device device(c10::DeviceIndex index) { return c10::Device(kNeuron, index); }

}  // namespace neuron
