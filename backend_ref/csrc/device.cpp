#include "device.h"

#include <c10/util/Exception.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <sstream>

namespace neuron {

std::string device_name() { return c10::get_privateuse1_backend(); }

std::string text_setting(const char* name, const char* fallback) {
  const char* text = std::getenv(name);
  return text && *text ? text : fallback;
}
long number_setting(const char* name, long fallback) {
  const std::string text = text_setting(name, "");
  if (text.empty()) return fallback;
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  TORCH_CHECK(*end == '\0' && value >= 0, name, "=", text, " is not a number of at least 0");
  return value;
}
bool switch_setting(const char* name) { return number_setting(name, 0) != 0; }

// "0,2" or "4-7", as the launchers write it: the cores this process may use. Cores the machine does not have end the
// list, as they do for other vendors' visibility settings.
static long visible_cores(const std::string& text, long cores) {
  long visible = 0;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    char* end = nullptr;
    const long first = std::strtol(part.c_str(), &end, 10);
    const long last = *end == '-' ? std::strtol(end + 1, &end, 10) : first;
    if (*end != '\0' || part.empty() || first < 0 || last < first || last >= cores) break;
    visible += last - first + 1;
  }
  return visible;
}

c10::DeviceIndex device_count() {
  static const auto count = [] {
    const long cores = std::min(number_setting("NEURON_REF_DEVICES", 2), 64L);
    const std::string visible = text_setting("NEURON_RT_VISIBLE_CORES", "");
    return static_cast<c10::DeviceIndex>(visible.empty() ? cores : visible_cores(visible, cores));
  }();
  return count;
}

// A launcher starts one process per device: each begins on the device of its local rank.
static c10::DeviceIndex first_device() {
  static const auto first = [] {
    const long rank = number_setting("LOCAL_RANK", 0);
    return static_cast<c10::DeviceIndex>(device_count() > 0 ? rank % device_count() : 0);
  }();
  return first;
}
static thread_local c10::DeviceIndex current = -1;

c10::DeviceIndex current_device() { return current >= 0 ? current : first_device(); }
void set_device_unchecked(c10::DeviceIndex index) { current = index; }
void set_device(c10::DeviceIndex index) {
  TORCH_CHECK(index >= 0 && index < device_count(), device_name(), ":", int(index), " does not exist; this process has ",
              int(device_count()), " ", device_name(), " device(s)");
  current = index;
}

static std::atomic<bool> used{false}, bad_fork{false}, other_threads{false};
static pthread_t first_thread;

bool in_use() { return used && !bad_fork; }
bool used_by_other_threads() { return other_threads; }
bool in_bad_fork() { return bad_fork; }
void use_device() {
  TORCH_CHECK(!bad_fork, "Cannot re-initialize ", device_name(), " in forked subprocess. To use ", device_name(),
              " with multiprocessing, you must use the 'spawn' start method");
  if (used.exchange(true)) {
    if (!pthread_equal(first_thread, pthread_self())) other_threads = true;
    return;
  }
  first_thread = pthread_self();
  pthread_atfork(nullptr, nullptr, [] { bad_fork = true; });
}

}  // namespace neuron
