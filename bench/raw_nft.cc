#include "bench/raw_nft.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr const char* kTable = "raw_peer";
constexpr std::size_t kTransactionBytesMax = 2 * 1024 * 1024;
constexpr std::size_t kListBytesMax = 48 * 1024;
constexpr std::size_t kElementBytes = 128;
constexpr int kSocketBytes = 4 * 1024 * 1024;
constexpr std::size_t kSlots = 128;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "raw_nft: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

// address . protocol . port . slot, as the kernel's registers have them.
std::array<std::uint32_t, 4> key_of(std::size_t number) {
  return {htonl(0x0a010000 + static_cast<std::uint32_t>(number / kSlots)), htonl(6U << 24),
          htonl(80U << 16), static_cast<std::uint32_t>(number % kSlots)};
}

std::array<std::uint32_t, 2> value_of(std::size_t number, std::uint32_t version) {
  return {htonl(0x0a580000 + static_cast<std::uint32_t>(number % kSlots) + version * 256),
          htonl(30080U << 16)};
}

template <class Words>
void put_data(nlmsghdr* header, std::uint16_t type, const Words& words) {
  nlattr* nest = mnl_attr_nest_start(header, type);
  mnl_attr_put(header, NFTA_DATA_VALUE, sizeof words, words.data());
  mnl_attr_nest_end(header, nest);
}

// The attributes at one level, one after the other.
template <class Each>
void each_attribute(const void* begin, const void* end, Each each) {
  const auto* one = static_cast<const nlattr*>(begin);
  while (mnl_attr_ok(
      one, static_cast<int>(static_cast<const char*>(end) - reinterpret_cast<const char*>(one)))) {
    each(one);
    one = mnl_attr_next(one);
  }
}

std::size_t elements_in(const nlmsghdr& message) {
  std::size_t count = 0;
  each_attribute(mnl_nlmsg_get_payload_offset(&message, sizeof(nfgenmsg)),
                 mnl_nlmsg_get_payload_tail(&message), [&](const nlattr* list) {
                   if (mnl_attr_get_type(list) != NFTA_SET_ELEM_LIST_ELEMENTS) return;
                   const auto* begin = static_cast<const char*>(mnl_attr_get_payload(list));
                   each_attribute(begin, begin + mnl_attr_get_payload_len(list),
                                  [&](const nlattr*) { ++count; });
                 });
  return count;
}

}  // namespace

RawMaps::RawMaps(std::size_t size, std::size_t maps)
    : size_(size),
      per_map_((size + maps - 1) / maps),
      socket_(mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC)),
      out_(kTransactionBytesMax + kListBytesMax + 1024),
      answer_(64 * 1024) {
  if (socket_ == nullptr || mnl_socket_bind(socket_, 0, MNL_SOCKET_AUTOPID) != 0) give_up("open");
  for (int option : {SO_SNDBUFFORCE, SO_SNDBUF, SO_RCVBUFFORCE, SO_RCVBUF}) {
    (void)::setsockopt(mnl_socket_get_fd(socket_), SOL_SOCKET, option, &kSocketBytes,
                       sizeof kSocketBytes);
  }
  begin_transaction();
  nlmsghdr* header = message(NFT_MSG_NEWTABLE, NLM_F_CREATE);
  mnl_attr_put_strz(header, NFTA_TABLE_NAME, kTable);
  end(header);
  for (std::size_t map = 0; map < maps; ++map) {
    header = message(NFT_MSG_NEWSET, NLM_F_CREATE);
    mnl_attr_put_strz(header, NFTA_SET_TABLE, kTable);
    mnl_attr_put_strz(header, NFTA_SET_NAME, map_of(map * per_map_).c_str());
    mnl_attr_put_u32(header, NFTA_SET_ID, htonl(static_cast<std::uint32_t>(map) + 1));
    mnl_attr_put_u32(header, NFTA_SET_FLAGS, htonl(NFT_SET_MAP));
    mnl_attr_put_u32(header, NFTA_SET_KEY_LEN, htonl(16));
    mnl_attr_put_u32(header, NFTA_SET_DATA_TYPE, htonl(1));
    mnl_attr_put_u32(header, NFTA_SET_DATA_LEN, htonl(8));
    end(header);
  }
  commit();
}

RawMaps::~RawMaps() { (void)mnl_socket_close(socket_); }

std::string RawMaps::map_of(std::size_t number) const {
  return "slots" + std::to_string(number / per_map_);
}

void RawMaps::add() {
  const std::size_t part = kTransactionBytesMax / kElementBytes;
  for (std::size_t done = 0; done < size_; done += part) {
    begin_transaction();
    elements(NFT_MSG_NEWSETELEM, NLM_F_CREATE | NLM_F_EXCL, done, std::min(part, size_ - done), 1);
    commit();
  }
}

void RawMaps::change(std::size_t first, std::size_t count, std::size_t step) {
  begin_transaction();
  elements(NFT_MSG_DELSETELEM, 0, first, count, step);
  ++version_;
  elements(NFT_MSG_NEWSETELEM, NLM_F_CREATE | NLM_F_EXCL, first, count, step);
  commit();
}

std::size_t RawMaps::count() {
  std::size_t count = 0;
  for (std::size_t first = 0; first < size_; first += per_map_) {
    used_ = 0;
    nlmsghdr* header = message(NFT_MSG_GETSETELEM, NLM_F_DUMP);
    mnl_attr_put_strz(header, NFTA_SET_ELEM_LIST_TABLE, kTable);
    mnl_attr_put_strz(header, NFTA_SET_ELEM_LIST_SET, map_of(first).c_str());
    end(header);
    if (mnl_socket_sendto(socket_, out_.data(), used_) < 0) give_up("send");
    for (bool done = false; !done;) {
      ssize_t got = mnl_socket_recvfrom(socket_, answer_.data(), answer_.size());
      if (got < 0) give_up("receive");
      int left = static_cast<int>(got);
      for (auto* one = reinterpret_cast<nlmsghdr*>(answer_.data()); mnl_nlmsg_ok(one, left);
           one = mnl_nlmsg_next(one, &left)) {
        if (one->nlmsg_type == NLMSG_ERROR) give_up("dump");
        done = one->nlmsg_type == NLMSG_DONE;
        if (!done) count += elements_in(*one);
      }
    }
  }
  return count;
}

nlmsghdr* RawMaps::message(std::uint16_t type, std::uint16_t flags) {
  last_ = used_;
  std::memset(out_.data() + used_, 0, sizeof(nlmsghdr) + sizeof(nfgenmsg));
  nlmsghdr* header = mnl_nlmsg_put_header(out_.data() + used_);
  bool batch = type == NFNL_MSG_BATCH_BEGIN || type == NFNL_MSG_BATCH_END;
  header->nlmsg_type = batch ? type : static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type);
  header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  header->nlmsg_seq = ++sequence_;
  auto* netfilter = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(nfgenmsg)));
  netfilter->nfgen_family = batch ? AF_UNSPEC : NFPROTO_INET;
  netfilter->res_id = batch ? htons(NFNL_SUBSYS_NFTABLES) : 0;
  return header;
}

void RawMaps::end(nlmsghdr* header) { used_ += MNL_ALIGN(header->nlmsg_len); }

void RawMaps::elements(std::uint16_t type, std::uint16_t flags, std::size_t first,
                       std::size_t count, std::size_t step) {
  for (std::size_t next = 0; next < count;) {
    const std::size_t map = (first + next * step) / per_map_;
    nlmsghdr* header = message(type, flags);
    mnl_attr_put_strz(header, NFTA_SET_ELEM_LIST_TABLE, kTable);
    mnl_attr_put_strz(header, NFTA_SET_ELEM_LIST_SET, map_of(map * per_map_).c_str());
    nlattr* list = mnl_attr_nest_start(header, NFTA_SET_ELEM_LIST_ELEMENTS);
    for (; next < count && header->nlmsg_len + kElementBytes <= kListBytesMax; ++next) {
      std::size_t number = first + next * step;
      if (number / per_map_ != map) break;
      nlattr* element = mnl_attr_nest_start(header, NFTA_LIST_ELEM);
      put_data(header, NFTA_SET_ELEM_KEY, key_of(number));
      if (type == NFT_MSG_NEWSETELEM) {
        put_data(header, NFTA_SET_ELEM_DATA, value_of(number, version_));
      }
      mnl_attr_nest_end(header, element);
    }
    mnl_attr_nest_end(header, list);
    end(header);
  }
}

void RawMaps::begin_transaction() {
  used_ = 0;
  end(message(NFNL_MSG_BATCH_BEGIN, 0));
}

void RawMaps::commit() {
  reinterpret_cast<nlmsghdr*>(out_.data() + last_)->nlmsg_flags |= NLM_F_ACK;
  end(message(NFNL_MSG_BATCH_END, 0));
  if (mnl_socket_sendto(socket_, out_.data(), used_) < 0) give_up("send");
  ssize_t got = mnl_socket_recvfrom(socket_, answer_.data(), answer_.size());
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer_.data());
  if (got < 0 || header->nlmsg_type != NLMSG_ERROR) give_up("acknowledge");
  errno = -static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(header))->error;
  if (errno != 0) give_up("commit");
}
