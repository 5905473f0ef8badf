// Streams and events. By default every kernel runs at once, a stream is only an identity and an event only a time
// stamp. With NEURON_REF_ASYNC=1 each stream has a worker thread, so that missing synchronisation really shows.
#pragma once
#include "device.h"

#include <c10/core/Stream.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

namespace neuron {

bool asynchronous();

c10::Stream current_stream(c10::DeviceIndex index);
c10::Stream default_stream(c10::DeviceIndex index);
// One of a fixed number of streams per device, in turn; as on GPUs, two of them may be the same.
c10::Stream pooled_stream(c10::DeviceIndex index);
// Makes `stream` current on its device and this thread, and returns the one it replaces.
c10::Stream exchange_stream(c10::Stream stream);

// Runs `work` on the stream's thread after everything enqueued before.
void enqueue(c10::Stream stream, std::function<void()> work);
bool idle(c10::Stream stream);
// Waits for the stream's work, and raises the first error that it met since the last wait.
void synchronize(c10::Stream stream);
void synchronize_device(c10::DeviceIndex index);

// One recording of an event: later recordings of the same event do not move it.
struct Mark {
  std::mutex mutex;
  std::condition_variable reached;
  bool done = false;
  int64_t nanoseconds = 0;
  void reach();
  void wait();
  bool query();
};
std::shared_ptr<Mark> record(c10::Stream stream);
void block(c10::Stream stream, std::shared_ptr<Mark> mark);

}  // namespace neuron
