// Whether a provider keeps the contract of provider.h: a test as a library, for the providers of
// this house in their unit tests and for any other against its live cloud.
//
// It makes load balancers, target sets and routes under names of its own, of a cluster uid that it
// makes up for the run, and takes them away again, also when a step has failed. It never asks for a
// change of anything else, so it may run beside others in a cloud that is in use. It holds at most
// two addresses of a pool at a time, a third where a stranger is given; what it made sends to
// addresses that belong to nobody, and so does who would take its routes (RFC 5737, RFC 3849).
//
// Every wait is bounded, and no step waits for another: each makes what it needs. Where a step has
// failed and the cloud does not let us in any more, the test is broken off. What a cloud may
// leave out (a capability that is null or `unsupported`, an attribute that it refuses) is skipped
// and said; what it must do and does not is failed, with what was seen and the next step.
//
//   ConformanceReport report = co_await run_conformance(
//       {.provider = provider, .random = random, .tell = print}, {}, Uncancellable(outliving));
//   return report.passed() ? 0 : 1;
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/ip.h"
#include "isthmus/base/random.h"
#include "isthmus/base/scope.h"
#include "isthmus/base/task.h"
#include "isthmus/cloud/provider.h"

namespace isthmus::cloud {

struct ConformanceOptions {
  std::string pool = {};                            // Empty: the cloud's choice.
  std::vector<IpFamily> families = {IpFamily::v4};  // What a load balancer of the test has.

  // Where its load balancers send to, if the defaults will not do: at least three of each family
  // that is tested. Nothing has to answer there.
  std::vector<IpAddress> target_addresses = {};

  // Where its routes lie, if the defaults (203.0.113.0/24, and 2001:db8:fffe::/48 where IPv6 is
  // tested) will not do: networks that nobody uses, of at most 24 bits for IPv4 and 56 for IPv6.
  std::vector<IpPrefix> route_ranges = {};

  Duration call_deadline = std::chrono::seconds(10);     // Of one call.
  Duration patience = std::chrono::seconds(30);          // Until something is settled, or gone.
  Duration poll_every = std::chrono::milliseconds(200);  // Meanwhile.
  Duration follow_patience = std::chrono::seconds(10);   // Until news have come.

  // For a provider whose way to its cloud the caller has in hand: while it is on, requests take
  // effect and their answers are lost. Without it the answer is thrown away behind the provider.
  std::function<void(bool on)> lose_answers = {};
};

// One thing that was checked.
struct ConformanceStep {
  enum class Verdict : std::uint8_t { passed, failed, skipped };

  std::string name = {};    // One word, constant between runs: "ensure-twice".
  std::string checks = {};  // What is true of a provider that passes, as a sentence.
  Verdict verdict = Verdict::skipped;
  std::string reason = {};     // Failed: what was seen instead. Skipped: why.
  std::string next_step = {};  // Failed: what to look at. Skipped: what would make it run, if any.
  Duration took = {};

  friend bool operator==(const ConformanceStep&, const ConformanceStep&) = default;
};

struct ConformanceReport {
  std::string cluster = {};                 // The uid that was made up for this run.
  std::vector<ConformanceStep> steps = {};  // All there are, in their order.
  std::vector<std::string> left = {};       // What could not be taken away: names in the cloud.
  bool broken_off = false;                  // The cloud could not be asked; the rest was skipped.

  // Nothing failed and nothing is left. What was skipped does not count.
  bool passed() const;
  std::size_t count(ConformanceStep::Verdict verdict) const;
};

// What it needs of the world; all of it outlives the run.
struct ConformanceDoors {
  Provider& provider;
  Provider* stranger = nullptr;  // The same cloud with the credentials of another owner, if any.
  Random& random;
  std::function<void(const ConformanceStep&)> tell = {};  // Each step that was begun, at its end.
};

// Runs all steps. When its scope is cancelled, what has not run yet is skipped; what stands is
// taken away in any case, in `cleanup`, within the patience for each.
Task<ConformanceReport> run_conformance(ConformanceDoors doors, ConformanceOptions options,
                                        Uncancellable cleanup);

// The names and sentences of all steps, for documentation.
std::vector<ConformanceStep> conformance_steps();

std::string_view to_string(ConformanceStep::Verdict verdict);

}  // namespace isthmus::cloud
