// The one gate that everything which changes something outside passes, right before it is sent:
// writes to Kubernetes (kube/layers.h) and to a cloud (cloud/gated_provider.h).
//
// Rules say whether it is open: we lead, nobody has pulled the switch. Each is asked anew for every
// call, as the last thing before it and after every wait for a turn.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/intrusive_list.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/scope.h"
#include "isthmus/base/task.h"

namespace isthmus {

// A resource. Outlives every call; without any rule it is shut.
class WriteGate {
 public:
  // Until when what is sent now may be under way, or why nothing may be sent.
  using Rule = std::function<Result<Moment>()>;

  explicit WriteGate(Metrics& metrics) : metrics_(metrics) {}
  WriteGate(const WriteGate&) = delete;
  WriteGate& operator=(const WriteGate&) = delete;

  // `name` labels the metric of what was not sent: "lease". What the rule refers to outlives the
  // calls.
  void add_rule(std::string name, Rule rule) {
    rules_.emplace_back(std::move(name), std::move(rule));
  }

  // Runs a call that changes something, and gives it no more time than every rule allowed when it
  // was sent. cancelled: not sent, and the message says why; or cut off by end_calls(). deadline:
  // the time was over; the effect is unknown, as it is where a call was cut off.
  template <class T>
  Task<Result<T>> pass(Task<Result<T>> call) {
    // A frame's parameters outlive its locals, and what waits in a scope must not.
    Scope& here = co_await current_scope();
    Passage passage(here);
    Task<Result<T>> inner = std::move(call);
    const Result<Moment> until = ask();
    if (!until) co_return std::unexpected(until.error());
    passages_.push_back(passage);
    if (*until < Moment::max()) passage.scope.set_deadline(*until);
    Result<T> answer = co_await passage.scope.run(std::move(inner));
    co_return answer;
  }

  // Cuts off what is under way, for a rule that has become strict.
  void end_calls();

 private:
  struct Passage : ListNode {
    explicit Passage(Scope& outer) : scope(outer) {}
    Scope scope;
  };

  Result<Moment> ask();

  Metrics& metrics_;
  std::vector<std::pair<std::string, Rule>> rules_;
  ListNode passages_;
};

}  // namespace isthmus
