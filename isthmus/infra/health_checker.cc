#include "isthmus/infra/health_checker.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "isthmus/base/intrusive_list.h"
#include "isthmus/base/rate_limit.h"
#include "isthmus/base/scope.h"

namespace isthmus::infra {
namespace {

// What each check that begins adds to the time over which the next ones are spread.
constexpr Duration kApart = std::chrono::milliseconds(1);

// How long a changed verdict waits for others: a machine that dies takes many targets with it, and
// they are one change.
constexpr Duration kGather = std::chrono::milliseconds(10);

// How many checks a full bucket lets begin at once: those of 10 ms.
constexpr double kBurstSeconds = 0.01;

constexpr std::string_view kMade = "infra_health_checks_made_total";
constexpr std::string_view kMadeHelp = "Health checks that have ended, by how.";
constexpr std::string_view kThere = "infra_health_checks";
constexpr std::string_view kThereHelp = "Different health checks that are made.";

// Counts of one kind of check.
struct KindMetrics {
  KindMetrics(Metrics& metrics, const std::string& kind)
      : there(metrics.gauge(kThere, kThereHelp, {{"kind", kind}})),
        ok(made(metrics, kind, "ok")),
        failed(made(metrics, kind, "failed")),
        timed_out(made(metrics, kind, "timeout")),
        not_asked(made(metrics, kind, "not_asked")) {}

  static Counter& made(Metrics& metrics, const std::string& kind, const std::string& result) {
    return metrics.counter(kMade, kMadeHelp, {{"kind", kind}, {"result", result}});
  }

  Gauge& there;
  Counter& ok;
  Counter& failed;
  Counter& timed_out;
  Counter& not_asked;  // This host could not; nobody was judged.
};

// Checks that are alike but for their address share one of these; the value counts them.
using Hows = std::map<api::HealthCheck, std::size_t>;

struct Key {
  const Hows::value_type* how;
  IpAddress address;

  friend bool operator==(const Key&, const Key&) = default;
};

// Only for looking up: nothing is ever done in the order of hashes.
struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {
    const auto* bytes = reinterpret_cast<const char*>(key.address.bytes.data());
    const std::size_t address = std::hash<std::string_view>{}({bytes, key.address.bytes.size()});
    return address ^ (std::hash<const void*>{}(key.how) * 0x9E3779B97F4A7C15);
  }
};

}  // namespace

class HealthChecker::Inside {
 public:
  Inside(Loop& loop, net::Prober& prober, Random& random, Metrics& metrics,
         HealthCheckLimits limits);
  ~Inside();

  void want(const std::string& user, const std::vector<Check>& checks);
  Verdict verdict(const Check& check) const;
  void assume_unhealthy(const Check& check, const std::string& reason);
  std::vector<std::string> take_changed();
  Task<Result<>> run();

  Signal changed;

 private:
  struct Entry;
  struct UnderWay;
  using Entries = std::unordered_map<Key, Entry, KeyHash>;

  // Checks that are due, and those of them under way.
  struct Lane {
    ListNode waiting;
    std::size_t under_way = 0;
  };

  // Calls a member function at a moment.
  struct Alarm final : Timer {
    Alarm(Inside& owner, void (Inside::*what)()) : checker(owner), call(what) {}
    void expired() override { (checker.*call)(); }

    Inside& checker;
    void (Inside::*call)();
  };

  Entry& entry_of(const Check& check);
  const Entry* find(const Check& check) const;
  Moment first_due(Duration interval);
  void end(Entry& entry);
  Lane& lane_of(const Entry& entry);
  void come_due(Entry& entry);
  void begin_due();
  Lane* next_lane();
  void begin(Lane& lane);
  Task<Result<>> ask(std::unique_ptr<UnderWay> probe);
  void judge(Entry& entry, const Result<>& answer);
  void turn(Entry& entry, api::Health health);
  void tell() { changed.set(); }
  KindMetrics& metrics_of(const Entry& entry);

  Loop& loop_;
  net::Prober& prober_;
  Random& random_;
  const std::size_t lane_max_;  // Under way in one lane.
  TokenBucket pace_;
  Alarm pace_alarm_{*this, &Inside::begin_due};
  Alarm tell_alarm_{*this, &Inside::tell};

  KindMetrics tcp_;
  KindMetrics http_;
  Gauge& unhealthy_;
  Gauge& waiting_;
  Histogram& lateness_;

  Hows hows_;
  Entries entries_;
  std::map<std::string, std::vector<Entry*>> users_;
  Moment newcomers_until_{};  // The first checks that are not due yet lie before this.
  std::uint32_t told_ = 1;    // How often take_changed() was called, and one.
  Lane prompt_;
  Lane slow_;
  Scope* probes_ = nullptr;  // While run() runs.
};

// One check. There may be 100,000, so nothing is kept here that a check does not need while it
// waits: 150 bytes each.
struct HealthChecker::Inside::Entry final : Timer, ListNode {
  explicit Entry(Inside& owner) : checker(owner) {}
  ~Entry() { checker.loop_.disarm(*this); }
  void expired() override { checker.come_due(*this); }

  const api::HealthCheck& how() const { return key->how->first; }

  Inside& checker;
  const Key* key = nullptr;
  UnderWay* under_way = nullptr;
  std::unique_ptr<std::string> reason;  // While it is unhealthy.
  Moment due{};
  std::uint32_t users = 0;
  std::uint32_t in_a_row = 0;    // So many answers were like the last one.
  std::uint32_t changed_in = 0;  // The value of told_ when its health changed.
  api::Health health = api::Health::unknown;
  bool is_listed = false;  // Among those that a user wants, while they are gone through.
  bool was_good = false;
  bool was_slow = false;  // Held its place for the whole timeout.
};

// A place that is taken, as long as the probe's coroutine exists. The entry goes first when nobody
// wants it any more.
struct HealthChecker::Inside::UnderWay {
  UnderWay(Inside& owner, Lane& own_lane, Entry& checked)
      : checker(owner), lane(own_lane), entry(&checked), scope(*owner.probes_) {
    ++lane.under_way;
    entry->under_way = this;
    scope.set_deadline(later(checker.loop_.now(), entry->how().timeout));
  }
  ~UnderWay() {
    --lane.under_way;
    if (entry != nullptr) await_next_turn();
    checker.begin_due();
  }

  // The next moment of its grid that lies ahead: what was missed is not made up for.
  void await_next_turn() {
    const Duration interval = std::max(entry->how().interval, kApart);
    const Duration behind = std::max(checker.loop_.now() - entry->due, Duration::zero());
    entry->due += interval * (behind / interval + 1);
    entry->under_way = nullptr;
    checker.loop_.arm(*entry, entry->due);
  }

  Inside& checker;
  Lane& lane;
  Entry* entry;
  Scope scope;
};

HealthChecker::Inside::Inside(Loop& loop, net::Prober& prober, Random& random, Metrics& metrics,
                              HealthCheckLimits limits)
    : loop_(loop),
      prober_(prober),
      random_(random),
      lane_max_(std::max<std::size_t>(limits.under_way_max / 2, 1)),
      pace_(loop, limits.per_second_max,
            static_cast<unsigned>(std::max(limits.per_second_max * kBurstSeconds, 1.0))),
      tcp_(metrics, "tcp"),
      http_(metrics, "http"),
      unhealthy_(metrics.gauge("infra_health_checks_unhealthy",
                               "Health checks whose target is unhealthy.")),
      waiting_(metrics.gauge("infra_health_checks_waiting",
                             "Health checks that are due and held back by a limit of ours.")),
      lateness_(metrics.histogram("infra_health_check_lateness_seconds",
                                  "How much later than planned health checks begin.",
                                  exponential_buckets(0.001, 4, 8))) {}

HealthChecker::Inside::~Inside() {
  ISTHMUS_ASSERT(probes_ == nullptr, "a health checker outlives its run()");
  loop_.disarm(pace_alarm_);
  loop_.disarm(tell_alarm_);
}

void HealthChecker::Inside::want(const std::string& user, const std::vector<Check>& checks) {
  std::vector<Entry*> wanted;
  wanted.reserve(checks.size());
  // In the order given, so that nothing here depends on where entries lie in memory.
  for (const Check& check : checks) {
    Entry& entry = entry_of(check);
    if (!std::exchange(entry.is_listed, true)) wanted.push_back(&entry);
  }
  for (Entry* entry : wanted) {
    entry->is_listed = false;
    ++entry->users;
  }
  std::vector<Entry*>& before = users_[user];
  std::swap(before, wanted);
  for (Entry* entry : wanted) {
    --entry->users;
    if (entry->users == 0) end(*entry);
  }
  if (before.empty()) users_.erase(user);
}

HealthChecker::Inside::Entry& HealthChecker::Inside::entry_of(const Check& check) {
  const auto how = hows_.try_emplace(check.how, 0).first;
  const auto [place, is_new] = entries_.try_emplace(Key{&*how, check.address}, *this);
  Entry& entry = place->second;
  if (!is_new) return entry;
  ++how->second;
  entry.key = &place->first;
  entry.due = first_due(check.how.interval);
  loop_.arm(entry, entry.due);
  metrics_of(entry).there.add(1);
  return entry;
}

Moment HealthChecker::Inside::first_due(Duration interval) {
  const Moment now = loop_.now();
  newcomers_until_ = std::max(newcomers_until_, now);
  const Duration window = std::clamp(newcomers_until_ - now, Duration::zero(), interval);
  if (newcomers_until_ < later(now, interval)) newcomers_until_ += kApart;
  return now + random_.between(Duration::zero(), window);
}

void HealthChecker::Inside::end(Entry& entry) {
  if (entry.under_way != nullptr) {
    entry.under_way->entry = nullptr;
    entry.under_way->scope.cancel();
  }
  if (entry.linked()) waiting_.add(-1);
  if (entry.health == api::Health::unhealthy) unhealthy_.add(-1);
  metrics_of(entry).there.add(-1);
  const Hows::iterator how = hows_.find(entry.how());
  entries_.erase(entries_.find(*entry.key));
  --how->second;
  if (how->second == 0) hows_.erase(how);
}

const HealthChecker::Inside::Entry* HealthChecker::Inside::find(const Check& check) const {
  const auto how = hows_.find(check.how);
  if (how == hows_.end()) return nullptr;
  const auto place = entries_.find(Key{&*how, check.address});
  return place == entries_.end() ? nullptr : &place->second;
}

Verdict HealthChecker::Inside::verdict(const Check& check) const {
  const Entry* entry = find(check);
  if (entry == nullptr) return {};
  return {.health = entry->health, .reason = entry->reason ? *entry->reason : ""};
}

void HealthChecker::Inside::assume_unhealthy(const Check& check, const std::string& reason) {
  const Entry* found = find(check);
  if (found == nullptr || found->health != api::Health::unknown) return;
  Entry& entry = entry_of(check);
  entry.health = api::Health::unhealthy;
  entry.reason = std::make_unique<std::string>(reason);
  unhealthy_.add(1);
}

// Looks at every check of every user, some nanoseconds each: cheaper than to keep for each check
// who its users are, since verdicts change rarely, and together.
std::vector<std::string> HealthChecker::Inside::take_changed() {
  loop_.disarm(tell_alarm_);
  changed.clear();
  std::vector<std::string> names;
  for (const auto& [name, checks] : users_) {
    const bool has_changed = std::ranges::any_of(
        checks, [this](const Entry* entry) { return entry->changed_in == told_; });
    if (has_changed) names.push_back(name);
  }
  ++told_;
  return names;
}

Task<Result<>> HealthChecker::Inside::run() {
  ISTHMUS_ASSERT(probes_ == nullptr, "one run() at a time");
  Scope& here = co_await current_scope();
  Scope scope(here);
  // Taken back before the scope destroys what is under way, so that nothing is begun in it then.
  const std::unique_ptr<Scope*, decltype([](Scope** probes) { *probes = nullptr; })> over(&probes_);
  probes_ = &scope;
  begin_due();
  Signal never;
  const Result<> why = co_await never.wait();
  CO_TRY(co_await scope.join());
  co_return why;
}

HealthChecker::Inside::Lane& HealthChecker::Inside::lane_of(const Entry& entry) {
  return entry.was_slow ? slow_ : prompt_;
}

void HealthChecker::Inside::come_due(Entry& entry) {
  lane_of(entry).waiting.push_back(entry);
  waiting_.add(1);
  begin_due();
}

void HealthChecker::Inside::begin_due() {
  while (probes_ != nullptr && !probes_->is_cancelled()) {
    Lane* lane = next_lane();
    if (lane == nullptr) return;
    if (!pace_.try_take()) {
      loop_.arm(pace_alarm_, pace_.next_at());
      return;
    }
    begin(*lane);
  }
}

// Of the lanes that have a place, the one whose first check has been due for longest.
HealthChecker::Inside::Lane* HealthChecker::Inside::next_lane() {
  Lane* next = nullptr;
  Moment due = Moment::max();
  for (Lane* lane : {&prompt_, &slow_}) {
    if (!lane->waiting.linked() || lane->under_way >= lane_max_) continue;
    const Entry& first = static_cast<Entry&>(lane->waiting.front());
    if (first.due >= due) continue;
    next = lane;
    due = first.due;
  }
  return next;
}

void HealthChecker::Inside::begin(Lane& lane) {
  Entry& entry = static_cast<Entry&>(lane.waiting.front());
  entry.unlink();
  waiting_.add(-1);
  lateness_.observe(loop_.now() - entry.due);
  probes_->spawn(&Inside::ask, this, std::make_unique<UnderWay>(*this, lane, entry));
}

Task<Result<>> HealthChecker::Inside::ask(std::unique_ptr<UnderWay> probe) {
  if (probe->entry == nullptr) co_return Result<>{};
  const api::HealthCheck& how = probe->entry->how();
  const bool is_http = how.protocol == api::HealthCheck::Protocol::http;
  net::ProbeRequest request{
      .endpoint = {.address = probe->entry->key->address, .port = how.port},
      .kind = is_http ? net::ProbeRequest::Kind::http : net::ProbeRequest::Kind::tcp,
      .path = how.path};
  Task<Result<>> asking = prober_.probe(std::move(request));
  const Result<> answer = co_await probe->scope.run(std::move(asking));
  if (probe->entry != nullptr) judge(*probe->entry, answer);
  co_return Result<>{};
}

void HealthChecker::Inside::judge(Entry& entry, const Result<>& answer) {
  const Outcome outcome = answer.outcome();
  KindMetrics& metrics = metrics_of(entry);
  if (outcome == Outcome::cancelled) return;
  if (outcome == Outcome::busy) {
    metrics.not_asked.add();
    return;
  }
  const bool is_good = outcome == Outcome::ok;
  entry.was_slow = outcome == Outcome::deadline;
  (is_good ? metrics.ok : entry.was_slow ? metrics.timed_out : metrics.failed).add();

  if (entry.was_good != is_good) entry.in_a_row = 0;
  entry.was_good = is_good;
  const std::uint32_t enough = is_good ? entry.how().rise : entry.how().fall;
  entry.in_a_row = std::min(entry.in_a_row + 1, std::max(enough, 1U));
  if (entry.in_a_row >= enough) {
    turn(entry, is_good ? api::Health::healthy : api::Health::unhealthy);
  }
  if (entry.health == api::Health::unhealthy && !is_good) {
    const std::string reason = entry.was_slow ? "no answer in time" : answer.error().message;
    if (!entry.reason || *entry.reason != reason) {
      entry.reason = std::make_unique<std::string>(reason);
    }
  }
}

void HealthChecker::Inside::turn(Entry& entry, api::Health health) {
  if (entry.health == health) return;
  if (health == api::Health::unhealthy) {
    unhealthy_.add(1);
  } else if (entry.health == api::Health::unhealthy) {
    unhealthy_.add(-1);
    entry.reason.reset();
  }
  entry.health = health;
  entry.changed_in = told_;
  if (!changed.is_set() && !tell_alarm_.armed()) {
    loop_.arm(tell_alarm_, later(loop_.now(), kGather));
  }
}

KindMetrics& HealthChecker::Inside::metrics_of(const Entry& entry) {
  return entry.how().protocol == api::HealthCheck::Protocol::http ? http_ : tcp_;
}

HealthChecker::HealthChecker(Loop& loop, net::Prober& prober, Random& random, Metrics& metrics,
                             HealthCheckLimits limits)
    : inside_(std::make_unique<Inside>(loop, prober, random, metrics, limits)) {}

HealthChecker::~HealthChecker() = default;

void HealthChecker::want(const std::string& user, const std::vector<Check>& checks) {
  inside_->want(user, checks);
}

Verdict HealthChecker::verdict(const Check& check) const { return inside_->verdict(check); }

void HealthChecker::assume_unhealthy(const Check& check, const std::string& reason) {
  inside_->assume_unhealthy(check, reason);
}

Signal& HealthChecker::changed() { return inside_->changed; }

std::vector<std::string> HealthChecker::take_changed() { return inside_->take_changed(); }

Task<Result<>> HealthChecker::run() { return inside_->run(); }

}  // namespace isthmus::infra
