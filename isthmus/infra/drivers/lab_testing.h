// A small network for tests of the kernel side, made of network namespaces that only this process
// knows: they are gone when it ends, however it ends. It works as root and, where the kernel allows
// it, in a user namespace of its own.
//
//   client 10.77.0.10 ---- 10.77.0.2 host 10.88.0.1 --+-- 10.88.0.11 machine 0
//          fd77::10          fd77::2      fd88::1      +-- 10.88.0.12 machine 1
//
// The host forwards and is the way back of the machines and of the client. Sockets belong to the
// namespace in which they are opened, so one test drives all sides of a connection.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::infra::drivers::testing {

// A descriptor and its end.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int operator*() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

inline bool write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// Gives this process the right to make network namespaces, in a user namespace of its own where it
// is not root. Empty, or why it cannot.
inline std::string gain_privilege() {
  // Once for the process: a user namespace inside a user namespace would lose the first one's
  // rights.
  static const std::string refusal = []() -> std::string {
    if (::unshare(CLONE_NEWNET) == 0) return {};
    std::string user = std::to_string(::getuid());
    std::string group = std::to_string(::getgid());
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
      return "the kernel allows neither network nor user namespaces here";
    }
    bool mapped = write_file("/proc/self/setgroups", "deny") &&
                  write_file("/proc/self/uid_map", "0 " + user + " 1") &&
                  write_file("/proc/self/gid_map", "0 " + group + " 1");
    return mapped ? "" : "the kernel does not map us to root in a user namespace";
  }();
  return refusal;
}

inline bool everything_is_required() {
  const char* value = ::getenv("ISTHMUS_REQUIRE_ALL");
  return value != nullptr && std::string_view(value) == "1";
}

class Namespace {
 public:
  // A new one; the process is in it afterwards.
  Namespace() {
    EXPECT_EQ(::unshare(CLONE_NEWNET), 0);
    self_ = Descriptor(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    // Without duplicate detection, a link-local address can be used at once instead of after 2 s.
    EXPECT_TRUE(write_file("/proc/sys/net/ipv6/conf/default/accept_dad", "0"));
  }

  // What is opened or started from now on is in this namespace.
  void enter() const { EXPECT_EQ(::setns(*self_, CLONE_NEWNET), 0); }

  // Output of a shell command that ends within seconds; a failure of it is one of the test.
  std::string run(const std::string& command) const {
    enter();
    std::string output;
    FILE* pipe = ::popen(
        ("timeout 10 sh -efc 'PATH=$PATH:/usr/sbin:/sbin;" + command + "' 2>&1").c_str(), "re");
    std::array<char, 4096> part{};
    while (std::size_t got = ::fread(part.data(), 1, part.size(), pipe)) {
      output.append(part.data(), got);
    }
    int status = ::pclose(pipe);
    EXPECT_EQ(status, 0) << command << "\n" << output;
    return output;
  }

  // Several `ip` commands, one a line, by one process: "link set lo up\naddr add …".
  void ip(const std::string& lines) const { run("ip -batch - <<END\n" + lines + "\nEND"); }

  // For others' `ip link add … netns`.
  std::string path() const {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(*self_);
  }

 private:
  Descriptor self_;
};

class Lab {
 public:
  static constexpr std::size_t kMachines = 2;

  Lab() {
    host.enter();
    EXPECT_TRUE(write_file("/proc/sys/net/ipv4/ip_forward", "1"));
    EXPECT_TRUE(write_file("/proc/sys/net/ipv6/conf/all/forwarding", "1"));
    host.ip(
        "link set lo up\n"
        "link add ext type veth peer name eth0 netns " +
        client.path() +
        "\n"
        "addr add 10.77.0.2/24 dev ext\naddr add fd77::2/64 dev ext nodad\n"
        "link add int type veth peer name host netns " +
        wire.path() +
        "\n"
        "addr add 10.88.0.1/24 dev int\naddr add fd88::1/64 dev int nodad\n"
        "link set ext up\nlink set int up");
    client.ip(
        "addr add 10.77.0.10/24 dev eth0\naddr add fd77::10/64 dev eth0 nodad\n"
        "link set eth0 up\nroute add default via 10.77.0.2\nroute add default via fd77::2");
    // The bridge is alone in a namespace: where there are rules, they would see what it carries.
    std::string bridge =
        "link add name bridge type bridge\nlink set bridge up\nlink set host master bridge up";
    for (std::size_t i = 0; i < kMachines; ++i) {
      std::string port = "m" + std::to_string(i);
      bridge += "\nlink add " + port + " type veth peer name eth0 netns " + machines[i].path() +
                "\nlink set " + port + " master bridge up";
    }
    wire.ip(bridge);
    for (std::size_t i = 0; i < kMachines; ++i) {
      std::string last = std::to_string(11 + i);
      machines[i].ip("addr add 10.88.0." + last + "/24 dev eth0\naddr add fd88::" + last +
                     "/64 dev eth0 nodad\nlink set eth0 up\nroute add default via 10.88.0.1\n"
                     "route add default via fd88::1");
    }
  }

  Namespace wire;
  Namespace client;
  Namespace host;
  std::array<Namespace, kMachines> machines;
};

// Skips, or fails where everything is required, unless there can be namespaces.
class PrivilegedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string refusal = gain_privilege();
    granted = refusal.empty();
    if (granted) return;
    if (everything_is_required()) {
      FAIL() << refusal;
    } else {
      GTEST_SKIP() << refusal;
    }
  }

  bool granted = false;
};

class LabTest : public PrivilegedTest {
 protected:
  void SetUp() override {
    PrivilegedTest::SetUp();
    if (granted) lab = std::make_unique<Lab>();
  }

  std::unique_ptr<Lab> lab;
};

}  // namespace isthmus::infra::drivers::testing
