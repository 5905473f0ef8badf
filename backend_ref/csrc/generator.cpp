#include "generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>

#include <cstring>
#include <vector>

namespace neuron {

enum class RngMode { counter, mirror, shared };
static RngMode rng_mode() {
  static const RngMode mode = [] {
    const std::string text = text_setting("NEURON_REF_RNG", "counter");
    if (text == "mirror") return RngMode::mirror;
    if (text == "shared") return RngMode::shared;
    TORCH_CHECK(text == "counter", "NEURON_REF_RNG=", text, " is not one of counter, mirror, shared");
    return RngMode::counter;
  }();
  return mode;
}
bool shares_cpu_generator() { return rng_mode() == RngMode::shared; }

// The splitmix64 finaliser: neighbouring (seed, offset) pairs must not give correlated streams.
static uint64_t scramble(uint64_t seed, uint64_t offset) {
  uint64_t z = seed + 0x9e3779b97f4a7c15ull * (offset + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

class GeneratorImpl final : public c10::GeneratorImpl {
 public:
  GeneratorImpl(c10::DeviceIndex index, at::Generator delegate)
      : c10::GeneratorImpl(neuron::device(index), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        delegate_(std::move(delegate)) {}

  at::Generator for_one_call() {
    if (delegate_.defined()) return delegate_;
    std::lock_guard<std::mutex> lock(mutex_);
    auto engine = at::detail::createCPUGenerator(scramble(seed_, offset_));
    offset_ += 4;  // GPU generators count in fours, and DTensor relies on it
    return engine;
  }
  void set_current_seed(uint64_t seed) override {
    if (delegate_.defined()) return delegate_.set_current_seed(seed);
    seed_ = seed;
    offset_ = 0;
  }
  uint64_t current_seed() const override { return delegate_.defined() ? delegate_.current_seed() : seed_; }
  void set_offset(uint64_t offset) override { offset_ = offset; }
  uint64_t get_offset() const override { return offset_; }
  uint64_t seed() override {
    const auto fresh = c10::detail::getNonDeterministicRandom();
    set_current_seed(fresh);
    return fresh;
  }
  void set_state(const c10::TensorImpl& state) override {
    if (delegate_.defined()) return delegate_.unsafeGetGeneratorImpl()->set_state(state);
    TORCH_CHECK(state.numel() == 16 && state.device().is_cpu() && state.dtype() == at::kByte,
                "a ", device_name(), " RNG state is a CPU byte tensor of length 16 (seed, offset)");
    const auto* bytes = static_cast<const char*>(state.data());
    std::memcpy(&seed_, bytes, 8);
    std::memcpy(&offset_, bytes + 8, 8);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    if (delegate_.defined()) return delegate_.unsafeGetGeneratorImpl()->get_state();
    auto state = at::detail::empty_cpu({16}, at::kByte);
    auto* bytes = static_cast<char*>(state.mutable_data_ptr());
    std::memcpy(bytes, &seed_, 8);
    std::memcpy(bytes + 8, &offset_, 8);
    return state.getIntrusivePtr();
  }
  static c10::DeviceType device_type() { return kNeuron; }

 private:
  GeneratorImpl* clone_impl() const override {
    auto* copy = new GeneratorImpl(device().index(), delegate_.defined() ? delegate_.clone() : at::Generator());
    copy->seed_ = seed_;
    copy->offset_ = offset_;
    return copy;
  }
  at::Generator delegate_;  // a CPU generator, in the modes mirror and shared
  uint64_t seed_ = c10::default_rng_seed_val, offset_ = 0;
  std::mutex mutex_;
};

const at::Generator& default_generator(c10::DeviceIndex index) {
  static const auto* all = [] {
    auto* generators = new std::vector<at::Generator>();
    for (c10::DeviceIndex i = 0; i < device_count(); i++)
      generators->push_back(shares_cpu_generator()
                                ? at::make_generator<GeneratorImpl>(i, at::detail::getDefaultCPUGenerator())
                                : new_generator(i));
    return generators;
  }();
  index = or_current(index);
  TORCH_CHECK(size_t(index) < all->size(), device_name(), ":", int(index), " does not exist");
  return (*all)[index];
}
at::Generator new_generator(c10::DeviceIndex index) {
  auto delegate = rng_mode() == RngMode::counter ? at::Generator() : at::detail::createCPUGenerator();
  return at::make_generator<GeneratorImpl>(or_current(index), std::move(delegate));
}
at::Generator cpu_generator_for(const at::Generator& generator) {
  return static_cast<GeneratorImpl*>(generator.unsafeGetGeneratorImpl())->for_one_call();
}

// Makes `to` draw what `from` would. Their states as tensors say the same, but take as long as a small kernel.
static void copy_stream(at::CPUGeneratorImpl& to, at::CPUGeneratorImpl& from) {
  to.set_engine(from.engine());
  to.set_next_float_normal_sample(from.next_float_normal_sample());
  to.set_next_double_normal_sample(from.next_double_normal_sample());
}
BorrowedCpuGenerator::BorrowedCpuGenerator(const at::Generator& source) {
  if (shares_cpu_generator()) return;
  one_call_ = cpu_generator_for(source);
  saved_ = at::detail::getDefaultCPUGenerator().clone();
  copy_stream(*at::detail::getDefaultCPUGenerator().get<at::CPUGeneratorImpl>(), *one_call_.get<at::CPUGeneratorImpl>());
}
BorrowedCpuGenerator::~BorrowedCpuGenerator() {
  if (!one_call_.defined()) return;
  copy_stream(*one_call_.get<at::CPUGeneratorImpl>(), *at::detail::getDefaultCPUGenerator().get<at::CPUGeneratorImpl>());
  copy_stream(*at::detail::getDefaultCPUGenerator().get<at::CPUGeneratorImpl>(), *saved_.get<at::CPUGeneratorImpl>());
}

}  // namespace neuron
