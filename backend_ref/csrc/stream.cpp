#include "stream.h"

#include "kernel_scope.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <thread>
#include <vector>

namespace neuron {

bool asynchronous() {
  static const bool on = switch_setting("NEURON_REF_ASYNC");
  return on;
}

// ------------------------------------------------------------------------------------------------ identity
constexpr int kStreamsPerDevice = 32;
static thread_local std::vector<c10::StreamId> current_ids;

static c10::Stream make(c10::DeviceIndex index, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, device(index), id);
}
static c10::StreamId& current_id(c10::DeviceIndex index) {
  if (current_ids.empty()) current_ids.resize(device_count(), 0);
  return current_ids.at(index);
}
c10::Stream current_stream(c10::DeviceIndex index) {
  index = or_current(index);
  return make(index, current_id(index));
}
c10::Stream default_stream(c10::DeviceIndex index) { return make(or_current(index), 0); }
c10::Stream pooled_stream(c10::DeviceIndex index) {
  static std::atomic<uint32_t> next{0};
  return make(or_current(index), 1 + next++ % kStreamsPerDevice);
}
c10::Stream exchange_stream(c10::Stream stream) {
  const auto previous = current_stream(stream.device_index());
  current_id(stream.device_index()) = stream.id();
  return previous;
}

// ------------------------------------------------------------------------------------------------ execution
class Queue {
 public:
  // The thread is detached and the queue never destroyed: at exit nobody is left to join it.
  Queue() {
    DeviceMemoryAccess inherited_by_the_thread;
    std::thread([this] { run(); }).detach();
  }
  void add(std::function<void()> work) {
    std::lock_guard<std::mutex> lock(mutex_);
    pending_.push_back(std::move(work));
    changed_.notify_all();
  }
  bool idle() {
    std::lock_guard<std::mutex> lock(mutex_);
    return pending_.empty() && !busy_;
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return pending_.empty() && !busy_; });
    if (auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
  }

 private:
  void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !pending_.empty(); });
      auto work = std::move(pending_.front());
      pending_.pop_front();
      busy_ = true;
      lock.unlock();
      std::exception_ptr error;
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
      work = nullptr;  // tensors it kept alive are released before anybody learns that it is done
      lock.lock();
      busy_ = false;
      if (error && !error_) error_ = error;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> pending_;
  bool busy_ = false;
  std::exception_ptr error_;
};

using StreamKey = std::pair<c10::DeviceIndex, c10::StreamId>;
static std::mutex queues_mutex;
static std::map<StreamKey, Queue*>& queues() {
  static auto* all = new std::map<StreamKey, Queue*>();
  return *all;
}
static Queue* queue_of(c10::Stream stream, bool create) {
  std::lock_guard<std::mutex> lock(queues_mutex);
  auto& slot = queues()[{stream.device_index(), stream.id()}];
  if (!slot && create) slot = new Queue();
  return slot;
}

void enqueue(c10::Stream stream, std::function<void()> work) { queue_of(stream, true)->add(std::move(work)); }
bool idle(c10::Stream stream) {
  Queue* queue = asynchronous() ? queue_of(stream, false) : nullptr;
  return !queue || queue->idle();
}
void synchronize(c10::Stream stream) {
  if (!asynchronous()) return;
  if (Queue* queue = queue_of(stream, false)) queue->wait();
}
void synchronize_device(c10::DeviceIndex index) {
  if (!asynchronous()) return;
  for (c10::StreamId id = 0; id <= kStreamsPerDevice; id++) synchronize(make(or_current(index), id));
}

// ------------------------------------------------------------------------------------------------ events
void Mark::reach() {
  std::lock_guard<std::mutex> lock(mutex);
  nanoseconds = std::chrono::steady_clock::now().time_since_epoch().count();
  done = true;
  reached.notify_all();
}
void Mark::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  reached.wait(lock, [this] { return done; });
}
bool Mark::query() {
  std::lock_guard<std::mutex> lock(mutex);
  return done;
}
std::shared_ptr<Mark> record(c10::Stream stream) {
  auto mark = std::make_shared<Mark>();
  if (idle(stream)) {
    mark->reach();
  } else {
    enqueue(stream, [mark] { mark->reach(); });
  }
  return mark;
}
void block(c10::Stream stream, std::shared_ptr<Mark> mark) {
  if (!mark->query()) enqueue(stream, [mark = std::move(mark)] { mark->wait(); });
}

}  // namespace neuron
