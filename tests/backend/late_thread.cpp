// Preloaded by a test, to make an unlucky schedule certain: a thread other than the first that has woken the first one
// goes on only when that runs Python again, and before it takes Python's global lock it waits for the interpreter to
// begin finalizing. It waits no longer than SECONDS_OF_HESITATION.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

extern "C" int Py_IsInitialized();

static std::atomic<bool> first_runs_python{false};
static bool in_first_thread() { return getpid() == syscall(SYS_gettid); }

template <class Condition>
static void hesitate_until(Condition reached) {
  const char* seconds = std::getenv("SECONDS_OF_HESITATION");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds ? std::atoi(seconds) : 0);
  while (!reached() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}
template <class Function>
static Function next(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

extern "C" void PyEval_RestoreThread(void* state) {
  static const auto restore = next(&PyEval_RestoreThread, "PyEval_RestoreThread");
  if (in_first_thread()) first_runs_python = true;
  restore(state);
}
extern "C" void PyEval_AcquireThread(void* state) {
  static const auto acquire = next(&PyEval_AcquireThread, "PyEval_AcquireThread");
  static thread_local bool started = false;  // a thread's first call belongs to its start, for which others wait
  if (started && !in_first_thread()) hesitate_until([] { return !Py_IsInitialized(); });
  started = true;
  acquire(state);
}
extern "C" void _ZNSt18condition_variable10notify_oneEv(void* self) {  // std::condition_variable::notify_one
  static const auto notify = next(&_ZNSt18condition_variable10notify_oneEv, "_ZNSt18condition_variable10notify_oneEv");
  first_runs_python = false;
  notify(self);
  if (!in_first_thread()) hesitate_until([] { return first_runs_python.load(); });
}
