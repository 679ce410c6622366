#include "isthmus/base/metrics.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <map>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "isthmus/base/result.h"

namespace isthmus {
namespace {

// All series of one name: ours by their labels, and the family that makes theirs.
template <class Ours, class Theirs>
struct Named {
  prometheus::Family<Theirs>* family = nullptr;
  std::map<Metrics::Labels, Ours> series;
};

template <class Ours, class Theirs, class Builder, class... Arguments>
Ours& find_or_make(std::map<std::string, Named<Ours, Theirs>, std::less<>>& by_name,
                   prometheus::Registry& registry, Builder builder, std::string_view name,
                   std::string_view help, Metrics::Labels labels, const Arguments&... arguments) {
  std::ranges::sort(labels);
  // Refused names and one name for two kinds reach us as exceptions; both are bugs of ours.
  try {
    Named<Ours, Theirs>& named = by_name[std::string(name)];
    if (named.family == nullptr) {
      named.family = &builder.Name(std::string(name)).Help(std::string(help)).Register(registry);
    }
    if (!named.series.contains(labels) && named.series.size() >= Metrics::kSeriesMax) {
      for (auto& label : labels) label.second = "other";
    }
    const auto found = named.series.find(labels);
    if (found != named.series.end()) return found->second;
    Theirs& theirs = named.family->Add({labels.begin(), labels.end()}, arguments...);
    return named.series.emplace(std::move(labels), Ours(theirs)).first->second;
  } catch (const std::exception& refused) {
    ISTHMUS_ASSERT(false, std::string(name) + ": " + refused.what());
  }
}

// Labels within one series are sorted already, because a map made them.
bool by_labels(const prometheus::ClientMetric& left, const prometheus::ClientMetric& right) {
  return left.label < right.label;
}

}  // namespace

struct Metrics::Registry {
  prometheus::Registry all;
  std::map<std::string, Named<Counter, prometheus::Counter>, std::less<>> counters;
  std::map<std::string, Named<Gauge, prometheus::Gauge>, std::less<>> gauges;
  std::map<std::string, Named<Histogram, prometheus::Histogram>, std::less<>> histograms;
};

void Counter::add(double amount) { counter_.Increment(amount); }
void Counter::raise_to(double total) {
  if (total > value()) add(total - value());
}
double Counter::value() const { return counter_.Value(); }

void Gauge::set(double value) { gauge_.Set(value); }
void Gauge::add(double amount) { gauge_.Increment(amount); }
double Gauge::value() const { return gauge_.Value(); }

void Histogram::observe(double value) { histogram_.Observe(value); }
std::size_t Histogram::count() const { return histogram_.Collect().histogram.sample_count; }
double Histogram::sum() const { return histogram_.Collect().histogram.sample_sum; }

std::vector<double> exponential_buckets(double first, double factor, std::size_t count) {
  std::vector<double> bounds;
  for (double bound = first; bounds.size() < count; bound *= factor) bounds.push_back(bound);
  return bounds;
}

Metrics::Metrics() : registry_(std::make_unique<Registry>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::counter(std::string_view name, std::string_view help, Labels labels) {
  return find_or_make(registry_->counters, registry_->all, prometheus::BuildCounter(), name, help,
                      std::move(labels));
}

Gauge& Metrics::gauge(std::string_view name, std::string_view help, Labels labels) {
  return find_or_make(registry_->gauges, registry_->all, prometheus::BuildGauge(), name, help,
                      std::move(labels));
}

Histogram& Metrics::histogram(std::string_view name, std::string_view help,
                              const std::vector<double>& buckets, Labels labels) {
  return find_or_make(registry_->histograms, registry_->all, prometheus::BuildHistogram(), name,
                      help, std::move(labels), buckets);
}

std::string Metrics::text() {
  hooks_.for_each([](ListNode& hook) { static_cast<OnCollect&>(hook).refresh_(); });
  // The library keeps series by hash; sorted, two scrapes and two runs can be compared.
  std::vector<prometheus::MetricFamily> families = registry_->all.Collect();
  std::ranges::sort(families, {}, &prometheus::MetricFamily::name);
  for (prometheus::MetricFamily& family : families) {
    std::ranges::sort(family.metric, by_labels);
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace isthmus
