// A real kube-apiserver as a child process, and the doors to it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/scope.h"
#include "isthmus/kube/client.h"
#include "isthmus/kube/tokens.h"
#include "isthmus/net/curl_transport.h"
#include "isthmus/net/world_posix.h"

namespace isthmus::kube {

// Ends with this object: the server ends when its standard input closes.
class ApiServer {
 public:
  // Waits until it is ready. Arguments as tests/apiserver/cmd/apiserver/main.go says.
  explicit ApiServer(std::vector<std::string> arguments);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  std::string kubeconfig, etcd, dir;

 private:
  int pid_ = -1;
  int input_ = -1;
};

// One user's connection to a server.
class Client {
 public:
  Client(net::PosixWorld& world, const std::string& kubeconfig);

 private:
  net::PosixWorld& world_;
  ClusterConfig config_;
  std::unique_ptr<net::Transport> transport_;
  ConfiguredTokens tokens_;

 public:
  Metrics metrics;
  HttpApi api;
};

// The program's world; there is one, as in main.
net::PosixWorld& world();

// Runs a task in real time, for at most 60 s.
template <class T>
Result<T> run(Task<Result<T>> task) {
  std::optional<Result<T>> answer =
      run_to_end(world().loop(), with_timeout(std::chrono::seconds(60), std::move(task)));
  ISTHMUS_ASSERT(answer, "the world has ended");
  return std::move(*answer);
}

// ok as soon as the condition holds; deadline when it does not within 30 s.
Task<Result<>> wait_until(std::function<bool()> condition);
Result<> eventually(std::function<bool()> condition);

// Whether the namespaces that a server makes for itself are there.
Result<> wait_for_namespaces(ApiDoor& api);

// The document at a path of what a call answered.
std::string text_at(const Result<std::string>& answer, std::string_view pointer);

// A Node as a kubelet registers it, and its decoded form.
Node create_node(ApiDoor& api, const std::string& name);
Node read_node(ApiDoor& api, const std::string& name);
ObjectName node_name(const std::string& name);

}  // namespace isthmus::kube
