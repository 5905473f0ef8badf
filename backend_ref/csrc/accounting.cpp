#include "accounting.h"

#include "device.h"

#include <mutex>
#include <unordered_set>

namespace neuron {

std::atomic<bool> accounting{false};

static std::mutex mutex;
static bool counting = false;
static std::map<std::string, uint64_t> counts;
static std::unordered_set<std::string> refused_operators;  // with or without an overload name
static std::unordered_set<c10::ScalarType> refused_dtypes;

static void update() { accounting = counting || !refused_operators.empty() || !refused_dtypes.empty(); }

static void account_name(const std::string& name, const std::string& full_name) {
  std::lock_guard<std::mutex> lock(mutex);
  TORCH_CHECK_NOT_IMPLEMENTED(!refused_operators.count(name) && !refused_operators.count(full_name), "Operator '",
                              full_name, "' is not supported on ", device_name());
  if (counting) counts[full_name]++;
}
void account(const c10::OperatorHandle& op) {
  const auto& schema = op.schema();
  const auto& overload = schema.overload_name();
  account_name(schema.name(), overload.empty() ? schema.name() : schema.name() + "." + overload);
}
void account(const char* operator_name) {
  if (C10_UNLIKELY(accounting)) account_name(operator_name, operator_name);
}
void check_dtype(c10::ScalarType type) {
  if (C10_LIKELY(!accounting)) return;
  std::lock_guard<std::mutex> lock(mutex);
  TORCH_CHECK_TYPE(!refused_dtypes.count(type), "dtype ", type, " is not supported on ", device_name(),
                   "; convert the tensor before it is moved to the device");
}

void count_calls(bool on) {
  std::lock_guard<std::mutex> lock(mutex);
  counting = on;
  update();
}
std::map<std::string, uint64_t> call_counts() {
  std::lock_guard<std::mutex> lock(mutex);
  return counts;
}
void reset_call_counts() {
  std::lock_guard<std::mutex> lock(mutex);
  counts.clear();
}
void refuse_operator(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex);
  refused_operators.insert(name);
  update();
}
void refuse_dtype(c10::ScalarType type) {
  std::lock_guard<std::mutex> lock(mutex);
  refused_dtypes.insert(type);
  update();
}
void accept_everything() {
  std::lock_guard<std::mutex> lock(mutex);
  refused_operators.clear();
  refused_dtypes.clear();
  update();
}

}  // namespace neuron
