#include "isthmus/infra/drivers/nft_driver.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isthmus/infra/drivers/nft_messages.h"
#include "isthmus/infra/drivers/nft_structure.h"
#include "isthmus/infra/drivers/plan.h"

namespace isthmus::infra::drivers {
namespace {

// A reading that others' changes cut through is repeated so often; on a host whose rules change all
// the time the caller comes back later.
constexpr int kReadingsMax = 5;

Result<> refuse_foreign(const HeldStructure& structure) {
  if (!structure.table || structure.mark == kTableMark) return {};
  return fail(Outcome::conflict,
              fmt::format("there is a table inet {} that we did not make; remove or rename it",
                          kTableName));
}

void note_gone(const ListenerChange& change, std::vector<GoneTarget>& gone) {
  if (change.key.protocol != Protocol::udp) return;
  for (const Endpoint& target : targets_left(change)) gone.push_back({change.key, target});
}

}  // namespace

// Collects changes and commits as many at a time as fit.
class NftDriver::Transactions {
 public:
  // `then` enters into what is held what has been committed.
  using Then = std::function<void()>;

  Transactions(NetlinkSocket& socket, std::size_t bytes_max)
      : socket_(socket), bytes_max_(bytes_max - kTransactionOverheadBytes) {}

  Result<> add(std::vector<Element> from, std::vector<Element> to, Then then) {
    NetlinkMessages change;
    add_changes(std::move(from), std::move(to), socket_, change);
    if (change.size() > bytes_max_) {
      return fail(Outcome::invalid, fmt::format("a change of {} bytes; a transaction takes {}",
                                                change.size(), bytes_max_));
    }
    if (waiting_.size() + change.size() > bytes_max_) TRY(flush());
    waiting_.append(change);
    then_.push_back(std::move(then));
    return {};
  }

  // Not together with others.
  Result<> commit_alone(const NetlinkMessages& messages) {
    TRY(commit(messages, socket_));
    ++committed_;
    return {};
  }

  Result<> flush() {
    if (!waiting_.empty()) TRY(commit_alone(waiting_));
    for (const Then& then : then_) then();
    waiting_.clear();
    then_.clear();
    return {};
  }

  std::uint32_t committed() const { return committed_; }

 private:
  NetlinkSocket& socket_;
  const std::size_t bytes_max_;
  NetlinkMessages waiting_;
  std::vector<Then> then_;
  std::uint32_t committed_ = 0;
};

NftDriver::NftDriver(NetlinkSocket socket, std::size_t transaction_bytes_max)
    : socket_(std::move(socket)),
      transaction_bytes_max_(std::min(transaction_bytes_max, socket_.request_bytes_max())) {}

Result<std::uint32_t> NftDriver::generation() { return read_generation(socket_); }

Result<Held> NftDriver::observe() {
  for (int reading = 1; reading <= kReadingsMax; ++reading) {
    std::uint32_t before = TRY(generation());
    Result<Held> held = observe_once();
    std::uint32_t after = TRY(generation());
    if (!held && held.outcome() != Outcome::busy && before == after) return held;
    if (held && before == after) {
      held->generation = after;
      return held;
    }
  }
  return fail(Outcome::busy,
              fmt::format("the rules changed during each of {} readings", kReadingsMax));
}

Result<Held> NftDriver::observe_once() {
  HeldStructure structure = TRY(read_structure(socket_));
  TRY(refuse_foreign(structure));
  Held held;
  held.structure = judge(structure);
  const std::vector<Element> strays = TRY(read_all(structure, held));
  if (!strays.empty()) held.structure = Structure::damaged;
  return held;
}

// Enters all elements into what is held, and gives back those that we could not have made. A set of
// another form than ours is left out: it goes, with all that is in it.
Result<std::vector<Element>> NftDriver::read_all(const HeldStructure& structure, Held& held) {
  std::vector<Element> strays;
  for (const SetShape& shape : wanted_sets()) {
    if (!holds(structure, shape)) continue;
    TRY(read_elements(shape.id, socket_, [&](const Element& element) -> Result<> {
      Result<> entered = enter(element, held);
      if (entered.outcome() == Outcome::busy) return entered;
      if (!entered) strays.push_back(element);
      return {};
    }));
  }
  return strays;
}

// Everything is read anew: the plan only knows that something is not right.
Result<> NftDriver::build(Held& held, Transactions& transactions) {
  HeldStructure structure = TRY(read_structure(socket_));
  TRY(refuse_foreign(structure));
  NetlinkMessages messages;
  if (structure.flags != 0) {
    add_table_without_flags(socket_, messages);
    TRY(transactions.commit_alone(messages));
  }
  messages.clear();
  add_structure(structure, socket_, messages);
  TRY(transactions.commit_alone(messages));
  Held nobodys;
  std::vector<Element> strays = TRY(read_all(structure, nobodys));
  for (Element& stray : strays) TRY(transactions.add({std::move(stray)}, {}, [] {}));
  held.structure = Structure::right;
  return {};
}

Result<> NftDriver::apply(const Plan& plan, Held& held) {
  // Flows end also when only a part could be done: of that part there will be no second plan.
  std::vector<GoneTarget> gone;
  Result<> changed = change(plan, held, gone);
  Result<std::size_t> ended = end_udp_flows(std::move(gone), socket_);
  if (!changed) return changed;
  if (!ended) return std::unexpected(ended.error());
  return {};
}

Result<> NftDriver::change(const Plan& plan, Held& held, std::vector<GoneTarget>& gone) {
  const std::uint32_t before = TRY(generation());
  Transactions transactions(socket_, transaction_bytes_max_);
  if (plan.build) TRY(build(held, transactions));
  for (const IpPrefix& link : plan.links_removed) {
    TRY(transactions.add({element_of(link)}, {}, [&] { held.links.erase(link); }));
  }
  for (const IpPrefix& link : plan.links_added) {
    TRY(transactions.add({}, {element_of(link)}, [&] { held.links.insert(link); }));
  }
  for (const IpAddress& address : plan.guarded_added) {
    TRY(transactions.add({}, {element_of(address)}, [&] { held.guarded.insert(address); }));
  }
  for (const ListenerChange& change : plan.listeners) {
    TRY(transactions.add(elements_of(change.key, change.from), elements_of(change.key, change.to),
                         [&] {
                           carry_out(change, held);
                           note_gone(change, gone);
                         }));
  }
  for (const IpAddress& address : plan.guarded_removed) {
    TRY(transactions.add({element_of(address)}, {}, [&] { held.guarded.erase(address); }));
  }
  TRY(transactions.flush());

  // Every transaction counts one. When it was only ours, nothing else needs to be looked at.
  const std::uint32_t after = TRY(generation());
  if (before == held.generation && after == before + transactions.committed()) {
    held.generation = after;
  }
  return {};
}

}  // namespace isthmus::infra::drivers
