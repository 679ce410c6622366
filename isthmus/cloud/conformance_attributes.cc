#include "isthmus/cloud/conformance_impl.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

using Effect = LoadBalancerPreview::Effect;
using Needs = ConformanceCheck::Needs;
using Spec = LoadBalancerSpec;

// One attribute of what a load balancer is, changed alone.
struct Attribute {
  std::string name;
  std::string sentence;
  bool may_be_refused = false;  // A cloud may be without it, if it says so.
  std::function<void(Spec&, const ConformanceBench&)> before;
  std::function<void(Spec&, const ConformanceBench&)> change;
  std::optional<std::size_t> targets = {};  // So many afterwards, where that is what is changed.
};

bool is_refusal(Outcome outcome) {
  return outcome == Outcome::invalid || outcome == Outcome::unsupported ||
         outcome == Outcome::conflict;
}

// A refused wish leaves what stands as it was; then the step is skipped.
Task<Result<>> refused_whole(ConformanceBench& bench, Spec wish, LoadBalancerState before,
                             Error why) {
  const Result<LoadBalancerState> answer = co_await bench.try_ensure(wish);
  if (answer) {
    co_return bench.failed("the preview refuses what ensure takes",
                           "the errors of preview are those of ensure");
  }
  const LoadBalancerState after = CO_TRY(co_await bench.get(wish.name));
  if (after.generation != before.generation || after.addresses != before.addresses) {
    co_return bench.failed("a refused wish changed what stands",
                           "refuse before anything is written");
  }
  co_return bench.skipped("the cloud does not do this: " + why.message);
}

// What differs is named, and nothing is written yet.
Task<Result<>> announced(ConformanceBench& bench, LoadBalancerPreview preview,
                         LoadBalancerState before) {
  if (preview.effect != Effect::changed || preview.changes.empty()) {
    co_return bench.failed("the preview does not name the change",
                           "compare every property of the wish with what stands");
  }
  const LoadBalancerState still = CO_TRY(co_await bench.get(before.name));
  if (still.generation != before.generation || still.addresses != before.addresses) {
    co_return bench.failed("a preview changed what stands", "a preview writes nothing");
  }
  co_return {};
}

// It is so now, once.
Task<Result<>> taken_over(ConformanceBench& bench, Spec wish, LoadBalancerState before) {
  const LoadBalancerState after = CO_TRY(co_await bench.standing(wish));
  const bool counts = before.generation != 0;
  if (counts && after.generation != before.generation + 1) {
    co_return bench.failed(
        fmt::format("one change took the generation from {} to {}", before.generation,
                    after.generation),
        "a change of what was asked for raises the generation by one, and it is written whole");
  }
  if (after.addresses != before.addresses) {
    co_return bench.failed("a change of something else changed the addresses",
                           "an address that is held never changes by itself");
  }
  if (after.labels != wish.labels) {
    co_return bench.failed("its labels are not those that were asked for",
                           "take labels over whole, with every change");
  }
  const LoadBalancerPreview preview = CO_TRY(co_await bench.preview(wish));
  if (preview.effect != Effect::unchanged) {
    co_return bench.failed("after ensure, the preview of the same still names a change",
                           "the change was not taken over, or is compared before defaulting");
  }
  const LoadBalancerState again = CO_TRY(co_await bench.ensure(wish));
  if (again.generation != after.generation) {
    co_return bench.failed("an equal ensure raised the generation",
                           "compare with what stands, and write only what differs");
  }
  co_return {};
}

Task<Result<>> change_alone(ConformanceBench& bench, Attribute attribute) {
  Spec from = bench.wish(bench.first());
  if (attribute.before) attribute.before(from, bench);
  Spec to = from;
  attribute.change(to, bench);
  if (attribute.may_be_refused && from != bench.wish(bench.first())) {
    const Result<LoadBalancerPreview> possible = co_await bench.try_preview(from);
    if (!possible && is_refusal(possible.outcome())) {
      co_return bench.skipped("the cloud does not do this: " + possible.error().message);
    }
  }
  const LoadBalancerState before = CO_TRY(co_await bench.standing(from));
  const Result<LoadBalancerPreview> preview = co_await bench.try_preview(to);
  if (!preview && attribute.may_be_refused && is_refusal(preview.outcome())) {
    Result<> refused = co_await refused_whole(bench, to, before, preview.error());
    co_return refused;
  }
  if (!preview) co_return bench.failed_call("preview of a change", preview.error());
  CO_TRY(co_await announced(bench, *preview, before));
  CO_TRY(co_await taken_over(bench, to, before));
  if (attribute.targets) CO_TRY(co_await bench.with_targets(to.name, *attribute.targets));
  co_return {};
}

Spec::HealthCheck tcp_check() { return {.port = 10256}; }

void add_listener_attributes(std::vector<Attribute>& all) {
  const auto change = [&all](std::string name, std::string sentence, bool may_be_refused,
                             void (*how)(Spec&, const ConformanceBench&)) {
    all.push_back({std::move(name), std::move(sentence), may_be_refused, {}, how});
  };
  change("port", "A changed port is taken over", false,
         [](Spec& spec, const ConformanceBench&) { spec.listeners[0].port = 81; });
  change("target-port", "A changed target port is taken over", false,
         [](Spec& spec, const ConformanceBench&) { spec.listeners[0].target_port = 30081; });
  change("listener-name", "A renamed listener is taken over", false,
         [](Spec& spec, const ConformanceBench&) { spec.listeners[0].name = "web"; });
  change("listener-added", "A further listener is taken over", false,
         [](Spec& spec, const ConformanceBench&) {
           spec.listeners.push_back({"tcp-443", Protocol::tcp, 443, 30443});
         });
  change("udp-listener", "A further listener for UDP is taken over", true,
         [](Spec& spec, const ConformanceBench&) {
           spec.listeners.push_back({"udp-53", Protocol::udp, 53, 30053});
         });
  all.push_back({"listener-removed", "A listener that is left out goes", false,
                 [](Spec& spec, const ConformanceBench&) {
                   spec.listeners.push_back({"tcp-443", Protocol::tcp, 443, 30443});
                 },
                 [](Spec& spec, const ConformanceBench&) { spec.listeners.pop_back(); }});
}

void add_target_attributes(std::vector<Attribute>& all) {
  all.push_back(
      {"target-added",
       "A further target is taken over",
       false,
       {},
       [](Spec& spec, const ConformanceBench& bench) { spec.targets.push_back(bench.target(1)); },
       2});
  all.push_back(
      {"target-replaced",
       "Another target in its place is taken over",
       false,
       {},
       [](Spec& spec, const ConformanceBench& bench) { spec.targets = {bench.target(1)}; },
       1});
  all.push_back({"targets-removed",
                 "A load balancer may be left without targets",
                 false,
                 {},
                 [](Spec& spec, const ConformanceBench&) { spec.targets.clear(); },
                 0});
}

void add_health_attributes(std::vector<Attribute>& all) {
  const auto checked = [](Spec& spec, const ConformanceBench&) { spec.health_check = tcp_check(); };
  all.push_back({"health-check", "A health check is taken over", true, {}, checked});
  all.push_back({"health-check-port", "The port of the health check is taken over", true, checked,
                 [](Spec& spec, const ConformanceBench&) { spec.health_check->port = 10250; }});
  all.push_back({"health-check-http", "A health check by HTTP is taken over", true, checked,
                 [](Spec& spec, const ConformanceBench&) {
                   spec.health_check->protocol = Spec::HealthCheck::Protocol::http;
                   spec.health_check->http_path = "/healthz";
                 }});
  all.push_back({"health-check-pace", "The times and counts of the health check are taken over",
                 true, checked, [](Spec& spec, const ConformanceBench&) {
                   spec.health_check->interval = std::chrono::seconds(10);
                   spec.health_check->timeout = std::chrono::seconds(4);
                   spec.health_check->rise = 3;
                   spec.health_check->fall = 4;
                 }});
}

void add_client_attributes(std::vector<Attribute>& all) {
  all.push_back({"source-ranges",
                 "The clients that are let in are taken over",
                 true,
                 {},
                 [](Spec& spec, const ConformanceBench&) {
                   spec.source_ranges = {parse_prefix("203.0.113.0/24").value()};
                 }});
  all.push_back(
      {"affinity",
       "Affinity of a client to a target is taken over",
       true,
       {},
       [](Spec& spec, const ConformanceBench&) { spec.affinity = Spec::Affinity::client_ip; }});
  all.push_back({"source-address", "Whether targets see the client's own address is taken over",
                 true,
                 [](Spec& spec, const ConformanceBench&) {
                   spec.source_address = Spec::SourceAddress::masquerade;
                 },
                 [](Spec& spec, const ConformanceBench&) {
                   spec.source_address = Spec::SourceAddress::keep;
                 }});
  all.push_back({"labels",
                 "Changed labels are taken over",
                 false,
                 {},
                 [](Spec& spec, const ConformanceBench&) {
                   spec.labels["conformance"] = "two";
                   spec.labels["further"] = "three";
                 }});
}

}  // namespace

void add_attribute_checks(std::vector<ConformanceCheck>& checks) {
  std::vector<Attribute> all;
  add_listener_attributes(all);
  add_target_attributes(all);
  add_health_attributes(all);
  add_client_attributes(all);
  for (Attribute& attribute : all) {
    ConformanceCheck check{.name = "changes-" + attribute.name,
                           .checks = attribute.sentence,
                           .needs = Needs::load_balancers};
    check.run = [attribute](ConformanceBench& bench) { return change_alone(bench, attribute); };
    checks.push_back(std::move(check));
  }
}

}  // namespace isthmus::cloud
