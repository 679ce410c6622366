// Metrics: numbers for Prometheus.
//
//   Counter& syncs = metrics.counter("service_controller_loadbalancer_sync_total", "Number of …");
//   syncs.add();
//
// A series is looked up once, by whoever counts, and kept; it lives as long as the Metrics, which
// outlives everything that counts. One Metrics per program: it is passed to constructors.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/intrusive_list.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace isthmus {

// Only goes up.
class Counter {
 public:
  explicit Counter(prometheus::Counter& counter) : counter_(counter) {}
  void add(double amount = 1);

  // Catches up with a total that is kept elsewhere (by the kernel, say); a lower one is ignored.
  void raise_to(double total);

  double value() const;

 private:
  prometheus::Counter& counter_;
};

class Gauge {
 public:
  explicit Gauge(prometheus::Gauge& gauge) : gauge_(gauge) {}
  void set(double value);
  void add(double amount);
  double value() const;

 private:
  prometheus::Gauge& gauge_;
};

// Counts observations by size. Prometheus wants durations in seconds.
class Histogram {
 public:
  explicit Histogram(prometheus::Histogram& histogram) : histogram_(histogram) {}
  void observe(double value);
  void observe(Duration duration) { observe(std::chrono::duration<double>(duration).count()); }
  std::size_t count() const;
  double sum() const;

 private:
  prometheus::Histogram& histogram_;
};

// `count` upper bounds, each `factor` times the one before; the bound +Inf comes by itself.
std::vector<double> exponential_buckets(double first, double factor, std::size_t count);

class Metrics {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  // How many series one name may have. Labels filled from the outside (a host, a webhook) could
  // otherwise grow without end; all series beyond share one whose label values are "other".
  static constexpr std::size_t kSeriesMax = 1000;

  // What text() is to be served as.
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The series of that name and labels, made by the first who asks. Names and label names are
  // constants of ours: a malformed one, or one name used for two kinds, is a bug.
  Counter& counter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, Labels labels = {});

  // Everybody who asks for one name must ask with the same buckets.
  Histogram& histogram(std::string_view name, std::string_view help,
                       const std::vector<double>& buckets, Labels labels = {});

  // Calls `refresh` at the start of every text(), for gauges that are computed rather than kept,
  // until this object is destroyed.
  class OnCollect;

  // Everything in Prometheus' text format, sorted by name and labels.
  std::string text();

 private:
  struct Registry;

  std::unique_ptr<Registry> registry_;
  ListNode hooks_;
};

class Metrics::OnCollect final : private ListNode {
 public:
  OnCollect(Metrics& metrics, std::function<void()> refresh) : refresh_(std::move(refresh)) {
    metrics.hooks_.push_back(*this);
  }

 private:
  friend class Metrics;
  std::function<void()> refresh_;
};

}  // namespace isthmus
