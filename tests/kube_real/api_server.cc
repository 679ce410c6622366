#include "tests/kube_real/api_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "isthmus/base/json.h"
#include "isthmus/kube/config.h"

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;

// The first line that a command prints.
std::string first_line_of(const std::string& command) {
  std::FILE* output = popen(command.c_str(), "r");
  ISTHMUS_ASSERT(output != nullptr, "a command that cannot be started");
  char line[4096] = {};
  const bool has_line = std::fgets(line, sizeof line, output) != nullptr;
  const int status = pclose(output);
  ISTHMUS_ASSERT(has_line && status == 0, "the test API server cannot be built");
  std::string text(line);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string program() {
  if (const char* named = std::getenv("ISTHMUS_TEST_APISERVER")) return named;
  return first_line_of(ISTHMUS_APISERVER_BUILD) + "/apiserver";
}

}  // namespace

ApiServer::ApiServer(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program());
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  int input[2], output[2];
  // Another server started later must not hold our end open.
  ISTHMUS_ASSERT(pipe2(input, O_CLOEXEC) == 0 && pipe2(output, O_CLOEXEC) == 0, "no pipes");
  pid_ = fork();
  ISTHMUS_ASSERT(pid_ >= 0, "no fork");
  if (pid_ == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    std::freopen("/dev/null", "w", stderr);
    execv(words[0], words.data());
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  input_ = input[1];
  std::string line;
  for (char letter = 0; read(output[0], &letter, 1) == 1 && letter != '\n';) line += letter;
  close(output[0]);
  const Result<json::value> said = parse_json(line);
  ISTHMUS_ASSERT(said, "the test API server did not become ready");
  kubeconfig = said->at("kubeconfig").as_string();
  etcd = said->at("etcd").as_string();
  dir = said->at("dir").as_string();
}

ApiServer::~ApiServer() {
  close(input_);
  waitpid(pid_, nullptr, 0);
}

net::PosixWorld& world() {
  static net::PosixWorld only;
  return only;
}

namespace {

ClusterConfig config_of(net::PosixWorld& world, const std::string& kubeconfig) {
  Result<ClusterConfig> config = load_kubeconfig(world.files(), kubeconfig);
  ISTHMUS_ASSERT(config, "a kubeconfig that we cannot read");
  return *config;
}

std::unique_ptr<net::Transport> transport_to(net::PosixWorld& world, const ClusterConfig& config) {
  Result<std::unique_ptr<net::Transport>> transport =
      net::make_curl_transport(world, {config.server, config.tls, config.proxy});
  ISTHMUS_ASSERT(transport, "an endpoint that we cannot use");
  return std::move(*transport);
}

}  // namespace

Client::Client(net::PosixWorld& world, const std::string& kubeconfig)
    : world_(world),
      config_(config_of(world, kubeconfig)),
      transport_(transport_to(world, config_)),
      tokens_(config_, world_.files(), world_.loop()),
      api(*transport_, tokens_, {.user_agent = "isthmus-test", .host = config_.server},
          world_.loop(), metrics) {}

Task<Result<>> wait_until(std::function<bool()> condition) {
  const Moment deadline = world().loop().now() + 30s;
  while (!condition()) {
    if (world().loop().now() > deadline) co_return fail(Outcome::deadline, "it never happened");
    CO_TRY(co_await sleep_for(2ms));
  }
  co_return Result<>{};
}

Result<> eventually(std::function<bool()> condition) {
  return run(wait_until(std::move(condition)));
}

namespace {

Task<Result<>> read_namespaces(ApiDoor& api) {
  for (const char* name : {"default", "kube-system"}) {
    for (;;) {
      Result<std::string> found = co_await api.get({Namespace::resource, {"", name}});
      if (found) break;
      CO_TRY(co_await sleep_for(20ms));
    }
  }
  co_return Result<>{};
}

}  // namespace

Result<> wait_for_namespaces(ApiDoor& api) { return run(read_namespaces(api)); }

std::string text_at(const Result<std::string>& answer, std::string_view pointer) {
  if (!answer) return std::string(to_string(answer.outcome()));
  const json::value document = *parse_json(*answer);
  boost::system::error_code none;
  const json::value* found = document.find_pointer(pointer, none);
  if (found == nullptr) return "(nothing)";
  return found->is_string() ? std::string(found->as_string()) : compact_json(*found);
}

ObjectName node_name(const std::string& name) { return {Node::resource, {"", name}}; }

Node create_node(ApiDoor& api, const std::string& name) {
  const std::string body =
      fmt::format(R"({{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "{}"}}}})", name);
  Result<std::string> made = run(api.create({node_name(name), body}));
  ISTHMUS_ASSERT(made, "a Node cannot be created");
  return *Decoder().object<Node>(*made);
}

Node read_node(ApiDoor& api, const std::string& name) {
  Result<std::string> text = run(api.get(node_name(name)));
  ISTHMUS_ASSERT(text, "a Node cannot be read");
  return *Decoder().object<Node>(*text);
}

}  // namespace isthmus::kube
