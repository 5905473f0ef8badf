#include "host_trap.h"

#include "device.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace neuron {

static int key = -1;
static struct sigaction previous_action;

// Only async-signal-safe calls: the process is about to end, and what matters is that the reason is on the screen.
static void on_fault(int signal, siginfo_t* info, void* context) {
  if (info->si_code == SEGV_PKUERR) {
    static const char message[] =
        "Fatal: host code read or wrote accelerator memory. A device pointer (Tensor.data_ptr()) is an address on "
        "the device; copy the tensor to the CPU first.\n";
    [[maybe_unused]] auto written = write(STDERR_FILENO, message, sizeof(message) - 1);
  }
  sigaction(SIGSEGV, &previous_action, nullptr);
  raise(signal);
}

static bool start() {
  if (!switch_setting("NEURON_REF_TRAP_HOST_ACCESS")) return false;
  key = pkey_alloc(0, 0);
  TORCH_CHECK(key >= 0, "NEURON_REF_TRAP_HOST_ACCESS needs memory protection keys (CPU flag pku): ", std::strerror(errno));
  // Threads inherit their rights from the thread that starts them. Start the intra-op pool now, with the key open:
  // its threads run kernels only.
  at::parallel_for(0, at::get_num_threads(), 1, [](int64_t, int64_t) { pkey_set(key, 0); });
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &previous_action);
  pkey_set(key, PKEY_DISABLE_ACCESS);
  return true;
}
bool host_trap() {
  static const bool active = start();
  return active;
}

void* map_protected(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  TORCH_CHECK(!pkey_mprotect(pages, bytes, PROT_READ | PROT_WRITE, key), "pkey_mprotect: ", std::strerror(errno));
  return pages;
}
void unmap_protected(void* pointer, size_t bytes) { munmap(pointer, bytes); }

unsigned DeviceMemoryAccess::open() {
  const unsigned rights = pkey_get(key);
  pkey_set(key, 0);
  return rights;
}
void DeviceMemoryAccess::restore(unsigned rights) { pkey_set(key, rights); }

}  // namespace neuron
