#include "isthmus/infra/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isthmus/base/file_stamp.h"
#include "isthmus/base/scope.h"
#include "isthmus/base/text.h"

namespace isthmus::infra {
namespace {

// Whoever may open the unix socket, while there are no owners.
constexpr std::string_view kLocalOwner = "local";

// What RFC 6750 lets a bearer token be made of, and a little more.
bool is_token(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

// The token in "Bearer abc"; the scheme in any case (RFC 9110 section 11.1).
std::optional<std::string_view> bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return std::nullopt;
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    char lower = static_cast<char>(authorization[i] | 0x20);  // Of letters; the space stays one.
    if (lower != kScheme[i]) return std::nullopt;
  }
  std::string_view token = trimmed(authorization.substr(kScheme.size()));
  return token.empty() ? std::nullopt : std::optional(token);
}

bool share_one(const std::vector<Secret>& left, const std::vector<Secret>& right) {
  return std::ranges::any_of(left, [&right](const Secret& token) {
    return std::ranges::find(right, token) != right.end();
  });
}

std::string shared(const std::string& file, const std::string& with) {
  return fmt::format("{}: holds a token that is also in {}", file, with);
}

}  // namespace

Access::Access(Files& files, Logger& log, const Config& config)
    : files_(files), log_(log), holders_(holders_of(config)), has_owners_(!config.owners.empty()) {}

std::vector<Access::Holder> Access::holders_of(const Config& config) {
  std::vector<Holder> holders;
  if (!config.admin_token_file.empty()) {
    holders.push_back({Caller::Role::admin, "admin", config.admin_token_file});
  }
  for (const OwnerConfig& owner : config.owners) {
    holders.push_back({Caller::Role::owner, owner.name, owner.token_file});
    Holder& holder = holders.back();
    if (owner.pools) holder.pools = std::make_shared<const PoolNames>(*owner.pools);
    if (owner.destinations) {
      holder.destinations = std::make_shared<const std::vector<IpPrefix>>(*owner.destinations);
    }
  }
  return holders;
}

Result<std::vector<Secret>> Access::read(const Holder& holder) const {
  std::string text = TRY(files_.read(holder.file, kTokenFileBytesMax));
  std::vector<Secret> tokens;
  for (std::string_view line : split(text, '\n')) {
    std::string_view token = trimmed(line);
    if (token.empty()) continue;
    if (!is_token(token)) {
      return fail(Outcome::invalid,
                  fmt::format("{}: holds something that is no token: expected one on each line, "
                              "of visible ASCII characters",
                              holder.file));
    }
    tokens.emplace_back(std::string(token));
  }
  if (tokens.empty()) return fail(Outcome::invalid, holder.file + ": holds no token");
  if (tokens.size() > kTokensMax) {
    return fail(Outcome::invalid, fmt::format("{}: holds {} tokens; at most {} are allowed",
                                              holder.file, tokens.size(), kTokensMax));
  }
  return tokens;
}

void Access::load(Mistakes& mistakes) {
  for (Holder& holder : holders_) {
    Result<FileStamp> stamp = files_.stamp(holder.file);
    if (stamp) holder.stamp = *stamp;
    Result<std::vector<Secret>> tokens = read(holder);
    if (tokens) {
      holder.tokens = std::move(*tokens);
    } else {
      mistakes.add("", tokens.error().message);
    }
  }
  for (std::size_t i = 0; i < holders_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!share_one(holders_[i].tokens, holders_[j].tokens)) continue;
      mistakes.add("", shared(holders_[i].file, holders_[j].file));
    }
  }
}

std::vector<Access::Holder> Access::next_holders(const Config& config, Mistakes& mistakes) const {
  std::vector<Holder> next = holders_of(config);
  std::vector<bool> is_new;
  for (Holder& holder : next) {
    auto known = std::ranges::find_if(holders_, [&holder](const Holder& before) {
      return before.role == holder.role && before.name == holder.name && before.file == holder.file;
    });
    is_new.push_back(known == holders_.end());
    if (known != holders_.end()) {
      const Holder said = std::move(holder);
      holder = *known;
      holder.pools = said.pools;
      holder.destinations = said.destinations;
      continue;
    }
    Result<FileStamp> stamp = files_.stamp(holder.file);
    if (stamp) holder.stamp = *stamp;
    Result<std::vector<Secret>> tokens = read(holder);
    holder.in_trouble = !tokens;
    if (tokens) holder.tokens = std::move(*tokens);
    if (!tokens) mistakes.add("", tokens.error().message);
  }
  for (std::size_t i = 0; i < next.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!(is_new[i] || is_new[j]) || !share_one(next[i].tokens, next[j].tokens)) continue;
      mistakes.add("", shared(next[i].file, next[j].file));
      Holder& turned_back = is_new[i] ? next[i] : next[j];
      turned_back.tokens.clear();
      turned_back.in_trouble = true;
    }
  }
  return next;
}

void Access::check(const Config& config, Mistakes& mistakes) const {
  next_holders(config, mistakes);
}

void Access::replace(const Config& config) {
  Mistakes mistakes;
  holders_ = next_holders(config, mistakes);
  if (!has_owners_ && !config.owners.empty()) {
    log_.warning(
        "there are owners now, so nobody is the owner local any more: what local has is served on, "
        "and only an administrator can change it",
        {{"owners", config.owners.size()}});
  }
  has_owners_ = !config.owners.empty();
  // Says what is wrong; and whoever shared a token with somebody who is gone now may be right
  // without a change.
  for (Holder& holder : holders_) {
    if (holder.in_trouble) read_fresh(holder);
  }
  refuse_shared();
  take_over();
}

std::shared_ptr<const PoolNames> Access::pools_of(std::string_view owner) const {
  for (const Holder& holder : holders_) {
    if (holder.role == Caller::Role::owner && holder.name == owner) return holder.pools;
  }
  return nullptr;
}

std::shared_ptr<const std::vector<IpPrefix>> Access::destinations_of(std::string_view owner) const {
  for (const Holder& holder : holders_) {
    if (holder.role == Caller::Role::owner && holder.name == owner) return holder.destinations;
  }
  return nullptr;
}

bool Access::names(std::string_view owner) const {
  if (!has_owners_) return owner == kLocalOwner;
  return std::ranges::any_of(holders_, [owner](const Holder& holder) {
    return holder.role == Caller::Role::owner && holder.name == owner;
  });
}

void Access::reload_all() {
  for (Holder& holder : holders_) read_fresh(holder);
  refuse_shared();
  take_over();
}

bool Access::look_at(Holder& holder) {
  const std::optional<FileStamp> now = stamp_of(files_, holder.file);
  return std::exchange(holder.stamp, now) != now;
}

void Access::read_fresh(Holder& holder) {
  Result<std::vector<Secret>> tokens = read(holder);
  if (!tokens) return refuse(holder, tokens.error());
  holder.fresh = std::move(*tokens);
}

void Access::refuse(Holder& holder, const Error& reason) {
  holder.fresh.reset();
  holder.in_trouble = true;
  log_.error("tokens not loaded, the last good ones stay",
             {{"holder", holder.name}, {"reason", reason}});
}

// What is turned back keeps its old tokens, which may now be those of another fresh one; so it goes
// on until nothing is shared. The administrator comes first, so an owner's file never takes over.
void Access::refuse_shared() {
  bool turned_back = true;
  while (std::exchange(turned_back, false)) {
    for (std::size_t i = 0; i < holders_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        Holder& later = holders_[i].fresh ? holders_[i] : holders_[j];
        Holder& other = holders_[i].fresh ? holders_[j] : holders_[i];
        if (!later.fresh || !share_one(later.next_tokens(), other.next_tokens())) continue;
        refuse(later, Error{Outcome::invalid, shared(later.file, other.file)});
        turned_back = true;
      }
    }
  }
}

void Access::take_over() {
  for (Holder& holder : holders_) {
    if (!holder.fresh) continue;
    holder.tokens = *std::exchange(holder.fresh, std::nullopt);
    holder.in_trouble = false;
    log_.info("tokens loaded", {{"holder", holder.name}, {"file", holder.file}});
  }
}

Task<Result<>> Access::keep_loaded() {
  while (true) {
    CO_TRY(co_await sleep_for(kTokenCheckPeriod));
    bool any_changed = false;
    std::vector<Holder*> due;
    for (Holder& holder : holders_) {
      const bool changed = look_at(holder);
      any_changed = any_changed || changed;
      // Whoever shared a token with a file that changes may be right without a change of its own.
      if (changed || holder.in_trouble) due.push_back(&holder);
    }
    if (!any_changed) continue;
    for (Holder* holder : due) read_fresh(*holder);
    refuse_shared();
    take_over();
  }
}

std::vector<std::string> Access::in_trouble() const {
  std::vector<std::string> names;
  for (const Holder& holder : holders_) {
    if (holder.in_trouble) names.push_back(holder.name);
  }
  return names;
}

Caller Access::who(std::optional<std::string_view> authorization, bool on_unix_socket) const {
  if (!authorization) {
    if (on_unix_socket && !has_owners_) {
      return {Caller::Role::owner, std::string(kLocalOwner), ""};
    }
    return {Caller::Role::nobody, "", "no token was given: send Authorization: Bearer TOKEN"};
  }
  std::optional<std::string_view> presented = bearer_token(*authorization);
  if (!presented) {
    return {Caller::Role::nobody, "", "expected Authorization: Bearer TOKEN"};
  }
  const Holder* holder = nullptr;
  for (const Holder& candidate : holders_) {
    for (const Secret& token : candidate.tokens) {
      // No early way out, which would tell by the time it takes whose token comes close.
      if (token.matches(*presented)) holder = &candidate;
    }
  }
  if (holder != nullptr) return {holder->role, holder->name, ""};
  if (!has_owners_) {
    return {Caller::Role::nobody, "",
            "the token is not known; this server has no owners and asks none for a token"};
  }
  return {Caller::Role::nobody, "", "the token is not known"};
}

}  // namespace isthmus::infra
