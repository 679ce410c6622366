// The peer of the nft driver: changes as many elements of nftables maps as the driver does, by
// plain netlink and without any code of the product. What the driver takes longer is its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct mnl_socket;
struct nlmsghdr;

// Of elements by number, in a table of its own that is gone with the network namespace. Whatever
// fails ends the program with a message.
class RawMaps {
 public:
  // Elements 0 to size - 1, spread over so many maps.
  RawMaps(std::size_t size, std::size_t maps);
  ~RawMaps();
  RawMaps(const RawMaps&) = delete;
  RawMaps& operator=(const RawMaps&) = delete;

  // Adds all of them, in transactions as large as the driver's.
  void add();

  // Removes elements first, first + step, … and adds them with another value.
  void change(std::size_t first, std::size_t count, std::size_t step);

  // Reads all of them.
  std::size_t count();

 private:
  nlmsghdr* message(std::uint16_t type, std::uint16_t flags);
  void end(nlmsghdr* header);
  void elements(std::uint16_t type, std::uint16_t flags, std::size_t first, std::size_t count,
                std::size_t step);
  void begin_transaction();
  void commit();

  std::string map_of(std::size_t number) const;

  const std::size_t size_;
  const std::size_t per_map_;
  mnl_socket* socket_;
  std::uint32_t sequence_ = 0;
  std::uint32_t version_ = 0;
  std::vector<char> out_;
  std::size_t used_ = 0;
  std::size_t last_ = 0;
  std::vector<char> answer_;
};
