// The process group of the device: runs every collective in a CPU backend (gloo) on zero-copy aliases of the device
// tensors. It has to be C++: c10d's Backend has no Python constructor.
#include "call_bridge.h"
#include "reduction.h"
#include "stream.h"

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/utils/pybind.h>

namespace neuron {

using at::Tensor;
using c10::intrusive_ptr;
using c10d::OpType;
using c10d::Work;
using TensorLists = std::vector<Tensors>;

static Tensor on_cpu(const Tensor& tensor) {
  if (!tensor.is_privateuseone()) return tensor;
  synchronize(current_stream(tensor.device().index()));
  return borrow_as_cpu(tensor);
}
template <class Item>
static std::vector<Item> on_cpu(const std::vector<Item>& items) {
  std::vector<Item> aliases;
  for (const auto& item : items) aliases.push_back(on_cpu(item));
  return aliases;
}

// Reports the device tensors, never the aliases: DDP's reducer reads gradients out of the future.
class NeuronWork final : public Work {
 public:
  NeuronWork(intrusive_ptr<Work> inner, Tensors outputs, OpType type, Finish finish)
      : Work(-1, type), inner_(std::move(inner)), outputs_(std::move(outputs)), finish_(std::move(finish)) {}
  bool isCompleted() override { return inner_->isCompleted(); }
  bool isSuccess() const override { return inner_->isSuccess(); }
  std::exception_ptr exception() const override { return inner_->exception(); }
  int sourceRank() const override { return inner_->sourceRank(); }
  Tensors result() override { return outputs_; }
  void abort() override { inner_->abort(); }
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override {
    const bool done = inner_->wait(timeout);
    if (auto once = std::exchange(finish_, nullptr)) once();
    return done;
  }
  // Completed before it is handed out: simple, but communication does not overlap with what waits on futures.
  intrusive_ptr<c10::ivalue::Future> getFuture() override {
    if (!future_) {
      wait(kNoTimeout);
      future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
      future_->markCompleted(c10::IValue(outputs_));
    }
    return future_;
  }

 private:
  intrusive_ptr<Work> inner_;
  Tensors outputs_;
  Finish finish_;  // what gloo cannot do itself, run once after it is done
  intrusive_ptr<c10::ivalue::Future> future_;
};

static intrusive_ptr<Work> track(intrusive_ptr<Work> work, Tensors outputs, OpType type, Finish finish = nullptr) {
  return c10::make_intrusive<NeuronWork>(std::move(work), std::move(outputs), type, std::move(finish));
}

class NeuronBackend final : public c10d::Backend {
 public:
  NeuronBackend(intrusive_ptr<Backend> inner, std::string name)
      : Backend(inner->getRank(), inner->getSize()), inner_(std::move(inner)), name_(std::move(name)) {}
  const std::string getBackendName() const override { return name_; }
  bool supportsSplitting() const override { return false; }
  void setTimeout(std::chrono::milliseconds timeout) override { inner_->setTimeout(timeout); }
  intrusive_ptr<Options> getBackendOptions() override { return inner_->getBackendOptions(); }
  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup(); }
  void abort() override { inner_->abort(); }
  void shutdown() override { inner_->shutdown(); }

  intrusive_ptr<Work> broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    auto cpu = on_cpu(tensors);
    return track(inner_->broadcast(cpu, options), tensors, OpType::BROADCAST);
  }
  intrusive_ptr<Work> allreduce(Tensors& tensors, const c10d::AllreduceOptions& given) override {
    auto options = given;
    auto cpu = on_cpu(tensors);
    auto finish = emulate_reduction(options.reduceOp, cpu, cpu, Inputs::in_place, getSize());
    return track(inner_->allreduce(cpu, options), tensors, OpType::ALLREDUCE, finish);
  }
  intrusive_ptr<Work> allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& given) override {
    auto options = given;
    auto cpu = on_cpu(tensors);
    auto finish = emulate_reduction(options.reduceOp, cpu, cpu, Inputs::in_place, getSize());
    return track(inner_->allreduce_coalesced(cpu, options), tensors, OpType::ALLREDUCE_COALESCED, finish);
  }
  intrusive_ptr<Work> reduce(Tensors& tensors, const c10d::ReduceOptions& given) override {
    auto options = given;
    auto cpu = on_cpu(tensors);
    auto finish = emulate_reduction(options.reduceOp, cpu, cpu, Inputs::in_place, getSize());
    if (getRank() != given.rootRank) finish = nullptr;
    return track(inner_->reduce(cpu, options), tensors, OpType::REDUCE, finish);
  }
  intrusive_ptr<Work> allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    auto outputs_cpu = on_cpu(outputs);
    auto inputs_cpu = on_cpu(inputs);
    Tensors flat;
    for (auto& list : outputs) flat.insert(flat.end(), list.begin(), list.end());
    return track(inner_->allgather(outputs_cpu, inputs_cpu, options), flat, OpType::ALLGATHER);
  }
  intrusive_ptr<Work> _allgather_base(Tensor& output, Tensor& input, const c10d::AllgatherOptions& options) override {
    auto output_cpu = on_cpu(output), input_cpu = on_cpu(input);
    return track(inner_->_allgather_base(output_cpu, input_cpu, options), {output}, OpType::_ALLGATHER_BASE);
  }
  intrusive_ptr<Work> allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override {
    auto outputs_cpu = on_cpu(outputs);
    auto inputs_cpu = on_cpu(inputs);
    return track(inner_->allgather_coalesced(outputs_cpu, inputs_cpu, options), {}, OpType::ALLGATHER_COALESCED);
  }
  intrusive_ptr<Work> allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                      const c10d::AllgatherOptions& options) override {
    auto outputs_cpu = on_cpu(outputs), inputs_cpu = on_cpu(inputs);
    return track(inner_->allgather_into_tensor_coalesced(outputs_cpu, inputs_cpu, options), outputs,
                 OpType::_ALLGATHER_BASE);
  }
  intrusive_ptr<Work> gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) override {
    auto outputs_cpu = on_cpu(outputs);
    auto inputs_cpu = on_cpu(inputs);
    return track(inner_->gather(outputs_cpu, inputs_cpu, options), {}, OpType::GATHER);
  }
  intrusive_ptr<Work> scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) override {
    auto outputs_cpu = on_cpu(outputs);
    auto inputs_cpu = on_cpu(inputs);
    return track(inner_->scatter(outputs_cpu, inputs_cpu, options), outputs, OpType::SCATTER);
  }
  intrusive_ptr<Work> reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                     const c10d::ReduceScatterOptions& given) override {
    auto options = given;
    auto outputs_cpu = on_cpu(outputs);
    auto inputs_cpu = on_cpu(inputs);
    Finish finish;
    for (auto& list : inputs_cpu) {
      options.reduceOp = given.reduceOp;
      finish = emulate_reduction(options.reduceOp, list, outputs_cpu, Inputs::kept, getSize());
    }
    return track(inner_->reduce_scatter(outputs_cpu, inputs_cpu, options), outputs, OpType::REDUCE_SCATTER, finish);
  }
  intrusive_ptr<Work> _reduce_scatter_base(Tensor& output, Tensor& input,
                                           const c10d::ReduceScatterOptions& given) override {
    auto options = given;
    Tensors output_cpu{on_cpu(output)}, input_cpu{on_cpu(input)};
    auto finish = emulate_reduction(options.reduceOp, input_cpu, output_cpu, Inputs::kept, getSize());
    return track(inner_->_reduce_scatter_base(output_cpu[0], input_cpu[0], options), {output},
                 OpType::_REDUCE_SCATTER_BASE, finish);
  }
  intrusive_ptr<Work> reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                      const c10d::ReduceScatterOptions& given) override {
    auto options = given;
    auto outputs_cpu = on_cpu(outputs), inputs_cpu = on_cpu(inputs);
    auto finish = emulate_reduction(options.reduceOp, inputs_cpu, outputs_cpu, Inputs::kept, getSize());
    return track(inner_->reduce_scatter_tensor_coalesced(outputs_cpu, inputs_cpu, options), outputs,
                 OpType::REDUCE_SCATTER_TENSOR_COALESCED, finish);
  }
  intrusive_ptr<Work> alltoall_base(Tensor& output, Tensor& input, std::vector<int64_t>& output_splits,
                                    std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& options) override {
    auto output_cpu = on_cpu(output), input_cpu = on_cpu(input);
    auto received = output_splits, sent = input_splits;  // gloo moves the split vectors away
    return track(inner_->alltoall_base(output_cpu, input_cpu, received, sent, options), {output}, OpType::ALLTOALL_BASE);
  }
  // gloo exchanges one flat tensor only: flatten, exchange, copy the pieces back.
  intrusive_ptr<Work> alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
    auto outputs_cpu = on_cpu(outputs), inputs_cpu = on_cpu(inputs);
    std::vector<int64_t> received_sizes, sent_sizes;
    Tensors pieces;
    int64_t total = 0;
    for (auto& tensor : inputs_cpu) {
      pieces.push_back(tensor.reshape({-1}));
      sent_sizes.push_back(tensor.numel());
    }
    for (auto& tensor : outputs_cpu) {
      received_sizes.push_back(tensor.numel());
      total += tensor.numel();
    }
    auto sent = at::cat(pieces);
    auto received = at::empty({total}, sent.options());
    auto consumed = received_sizes;
    auto work = inner_->alltoall_base(received, sent, consumed, sent_sizes, options);
    return track(work, outputs, OpType::ALLTOALL, [sent, received, outputs_cpu, received_sizes]() mutable {
      auto parts = received.split_with_sizes(received_sizes);
      for (size_t i = 0; i < outputs_cpu.size(); i++) outputs_cpu[i].copy_(parts[i].view(outputs_cpu[i].sizes()));
    });
  }
  intrusive_ptr<Work> send(Tensors& tensors, int to, int tag) override {
    auto cpu = on_cpu(tensors);
    return track(inner_->send(cpu, to, tag), tensors, OpType::SEND);
  }
  intrusive_ptr<Work> recv(Tensors& tensors, int from, int tag) override {
    auto cpu = on_cpu(tensors);
    return track(inner_->recv(cpu, from, tag), tensors, OpType::RECV);
  }
  intrusive_ptr<Work> recvAnysource(Tensors& tensors, int tag) override {
    auto cpu = on_cpu(tensors);
    return track(inner_->recvAnysource(cpu, tag), tensors, OpType::RECVANYSOURCE);
  }
  intrusive_ptr<Work> barrier(const c10d::BarrierOptions& given) override {
    auto options = given;  // gloo refuses device ids
    options.device_ids.clear();
    options.device = std::nullopt;
    synchronize_device(current_device());
    return track(inner_->barrier(options), {}, OpType::BARRIER);
  }
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all) override {
    inner_->monitoredBarrier(options, wait_all);
  }

 private:
  intrusive_ptr<Backend> inner_;
  std::string name_;
};

void bind_process_group(pybind11::module_& m) {
  m.def(
      "wrap_process_group",
      [](const intrusive_ptr<c10d::Backend>& inner, const std::string& name) -> intrusive_ptr<c10d::Backend> {
        return c10::make_intrusive<NeuronBackend>(inner, name);
      },
      pybind11::call_guard<pybind11::gil_scoped_release>());
}

}  // namespace neuron
