#include "isthmus/kube/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "isthmus/base/text.h"
#include "isthmus/kube/api/base64.h"
#include "isthmus/kube/config_impl.h"
#include "isthmus/kube/tokens.h"
#include "isthmus/net/http.h"

namespace isthmus::kube {
namespace {

// A kubeconfig of a hundred clusters with inline certificates has half a MiB.
constexpr std::size_t kKubeconfigBytesMax = std::size_t{4} << 20;

// The system's whole bundle has 230 KB.
constexpr std::size_t kPemBytesMax = std::size_t{1} << 20;

// Namespace names end at 63 characters.
constexpr std::size_t kNamespaceBytesMax = 256;

// A server's URL taken apart far enough to judge it.
struct Url {
  std::string_view scheme;
  std::string_view host;  // Without brackets.
};

std::optional<Url> split_url(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  Url url{text.substr(0, colon), {}};
  std::string_view rest = text.substr(colon + 3);
  const std::string_view authority = rest.substr(0, rest.find('/'));
  if (rest.find_first_of("?#@ \t\r\n") != std::string_view::npos) return std::nullopt;

  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    url.host = authority.substr(1, bracket - 1);
    port = authority.substr(bracket + 1);
  } else {
    url.host = authority.substr(0, authority.find(':'));
    port = authority.substr(url.host.size());
  }
  std::uint16_t number = 0;
  if (!port.empty()) {
    const auto end = port.data() + port.size();
    const auto read = std::from_chars(port.data() + 1, end, number);
    if (port[0] != ':' || read.ec != std::errc() || read.ptr != end || number == 0) {
      return std::nullopt;
    }
  }
  if (url.host.empty()) return std::nullopt;
  return url;
}

// What is wrong with the URL of an API server; empty: nothing.
std::string_view server_mistake(std::string_view server) {
  const std::optional<Url> url = split_url(server);
  if (!url) return "is not a URL like https://HOST:PORT";
  if (url->scheme == "https") return {};
  if (url->scheme != "http") return "is neither https nor http";
  if (net::is_loopback(url->host)) return {};
  return "is plain http to another host, where anybody on the way reads the token; use https";
}

std::string shown_url(std::string_view url) { return isthmus::quoted(net::without_user_info(url)); }

std::string without_trailing_slash(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

// Relative names start at the kubeconfig's directory.
std::string resolved(const std::string& kubeconfig, const std::string& path) {
  const std::size_t slash = kubeconfig.rfind('/');
  if (path.starts_with('/') || slash == std::string::npos) return path;
  return kubeconfig.substr(0, slash + 1) + path;
}

// Reads one kubeconfig into one ClusterConfig; for the duration of load_kubeconfig.
class KubeconfigReader {
 public:
  KubeconfigReader(Files& files, const std::string& path, const KubeconfigChoice& choice,
                   Mistakes& mistakes)
      : files_(files), path_(path), choice_(choice), mistakes_(mistakes) {}

  ClusterConfig read(const YamlField& document) {
    check_kind(document);
    const std::optional<YamlField> context = chosen_context(document);
    if (!context) return std::move(config_);
    config_.name_space = context->text("namespace");
    const auto cluster = named(document, "clusters", "cluster", *context, "cluster");
    if (cluster) read_cluster(*cluster);
    const auto user = named(document, "users", "user", *context, "user");
    if (user) read_user(*user);
    return std::move(config_);
  }

 private:
  void check_kind(const YamlField& document) {
    const std::string kind = document.text("kind");
    const std::string version = document.text("apiVersion");
    if (!kind.empty() && kind != "Config") document.refuse("kind", "is not \"Config\"");
    if (!version.empty() && version != "v1") document.refuse("apiVersion", "is not \"v1\"");
  }

  std::optional<YamlField> chosen_context(const YamlField& document) {
    if (!choice_.context.empty()) {
      return find(document, "contexts", "context", choice_.context, [&](std::string_view why) {
        mistakes_.add(path_, fmt::format("context {} was asked for: {}",
                                         isthmus::quoted(choice_.context), why));
      });
    }
    const std::string current = document.text("current-context");
    if (current.empty()) {
      document.refuse("current-context", "is missing, and no context was asked for");
      return std::nullopt;
    }
    return find(document, "contexts", "context", current, [&](std::string_view why) {
      document.refuse("current-context", fmt::format("{}: {}", isthmus::quoted(current), why));
    });
  }

  // The entry of `list` that the chosen context refers to by its field `reference`.
  std::optional<YamlField> named(const YamlField& document, std::string_view list,
                                 std::string_view entry, const YamlField& context,
                                 std::string_view reference) {
    const std::string name = context.text(reference);
    if (name.empty()) {
      context.refuse(reference, "is missing");
      return std::nullopt;
    }
    return find(document, list, entry, name, [&](std::string_view why) {
      context.refuse(reference, fmt::format("{}: {}", isthmus::quoted(name), why));
    });
  }

  // In a list of {name: …, ENTRY: {…}}, the ENTRY of that name. Calls unknown(why) if there is
  // none.
  template <class Unknown>
  std::optional<YamlField> find(const YamlField& document, std::string_view list,
                                std::string_view entry, const std::string& name, Unknown unknown) {
    std::optional<YamlField> found;
    std::vector<std::string> names;
    const std::optional<YamlField> all = document.member(list);
    for (const YamlField& each : all ? all->elements() : std::vector<YamlField>()) {
      const std::string each_name = each.text("name");
      names.push_back(isthmus::quoted(each_name));
      if (each_name != name) continue;
      if (found) {
        each.refuse("name", fmt::format("{} is given twice", isthmus::quoted(name)));
      } else {
        found = each;
      }
    }
    if (!found) {
      unknown(names.empty() ? fmt::format("there are no {}", list)
                            : fmt::format("is not among {}: {}", list, fmt::join(names, ", ")));
      return std::nullopt;
    }
    std::optional<YamlField> value = found->required_member(entry);
    if (value && !value->is_map()) {
      value->refuse("is not a map");
      return std::nullopt;
    }
    return value;
  }

  void read_cluster(const YamlField& cluster) {
    cluster.only_members({"server", "tls-server-name", "insecure-skip-tls-verify",
                          "certificate-authority", "certificate-authority-data", "proxy-url",
                          "disable-compression", "extensions"});
    const std::string skip = cluster.text("insecure-skip-tls-verify");
    if (!skip.empty() && skip != "false") {
      cluster.refuse("insecure-skip-tls-verify",
                     "would let anybody play the API server and take the token; it is not "
                     "supported: name its CA in certificate-authority, or the name in its "
                     "certificate in tls-server-name");
    }
    const std::string server = choice_.server.empty() ? cluster.text("server") : choice_.server;
    if (server.empty()) {
      cluster.refuse("server", "is missing");
    } else if (std::string_view mistake = server_mistake(server); mistake.empty()) {
      config_.server = without_trailing_slash(server);
    } else if (choice_.server.empty()) {
      cluster.refuse("server", fmt::format("{} {}", shown_url(server), mistake));
    } else {
      mistakes_.add("",
                    fmt::format("the server {} that was asked for {}", shown_url(server), mistake));
    }
    config_.tls.server_name = cluster.text("tls-server-name");
    Result<> name = net::check(net::ClientTls{.server_name = config_.tls.server_name});
    if (!name) cluster.refuse("tls-server-name", name.error().message);
    config_.tls.ca_pem = pem(cluster, "certificate-authority");
    if (!config_.tls.ca_pem.empty()) {
      Result<> checked = net::check(net::ClientTls{.ca_pem = config_.tls.ca_pem});
      if (!checked)
        cluster.refuse(pem_field(cluster, "certificate-authority"), checked.error().message);
    }
    read_proxy(cluster);
  }

  void read_proxy(const YamlField& cluster) {
    config_.proxy = cluster.text("proxy-url");
    if (config_.proxy.empty()) return;
    constexpr std::array<std::string_view, 3> kSchemes{"http://", "https://", "socks5://"};
    if (std::ranges::none_of(kSchemes,
                             [&](auto each) { return config_.proxy.starts_with(each); })) {
      cluster.refuse("proxy-url", "is not a URL of http, https or socks5");
    }
  }

  void read_user(const YamlField& user) {
    user.only_members({"client-certificate", "client-certificate-data", "client-key",
                       "client-key-data", "token", "tokenFile", "exec", "auth-provider", "username",
                       "password", "as", "as-uid", "as-groups", "as-user-extra", "extensions"});
    for (std::string_view plugin : {"exec", "auth-provider"}) {
      if (user.member(plugin)) {
        user.refuse(plugin,
                    "runs a program of somebody else for every token, which is not "
                    "supported: use token, tokenFile or a client certificate");
      }
    }
    for (std::string_view basic : {"username", "password"}) {
      if (user.member(basic)) {
        user.refuse(basic, "no API server since Kubernetes 1.19 accepts passwords");
      }
    }
    for (std::string_view as : {"as", "as-uid", "as-groups", "as-user-extra"}) {
      if (user.member(as)) user.refuse(as, "acting as somebody else is not supported");
    }
    read_client_certificate(user);
    read_token(user);
  }

  void read_client_certificate(const YamlField& user) {
    config_.tls.certificate_pem = pem(user, "client-certificate");
    config_.tls.private_key_pem = Secret(pem(user, "client-key"));
    const bool certified = has_pem(user, "client-certificate");
    const bool keyed = has_pem(user, "client-key");
    if (certified && !keyed) user.refuse("client-key", "is missing: client-certificate needs it");
    if (keyed && !certified)
      user.refuse("client-certificate", "is missing: client-key is of no use");
    // One that could not be read has been reported already.
    if (config_.tls.certificate_pem.empty() || config_.tls.private_key_pem.empty()) return;
    Result<> checked = net::check(net::ClientTls{.certificate_pem = config_.tls.certificate_pem,
                                                 .private_key_pem = config_.tls.private_key_pem});
    if (!checked) user.refuse(pem_field(user, "client-certificate"), checked.error().message);
  }

  void read_token(const YamlField& user) {
    const std::string token = user.text("token");
    if (!token.empty()) {
      if (Result<> checked = check_token(token); !checked) {
        user.refuse("token", checked.error().message);
      }
      config_.token = Secret(token);
    }
    const std::string file = user.text("tokenFile");
    if (file.empty()) return;
    config_.token_file = resolved(path_, file);
    if (Result<Secret> read = read_token_file(files_, config_.token_file); !read) {
      user.refuse("tokenFile", read.error().message);
    }
  }

  // Which of KEY and KEY-data counts.
  static std::string pem_field(const YamlField& owner, std::string_view key) {
    std::string data_key = fmt::format("{}-data", key);
    return owner.text(data_key).empty() ? std::string(key) : data_key;
  }
  static bool has_pem(const YamlField& owner, std::string_view key) {
    return !owner.text(pem_field(owner, key)).empty();
  }

  // The contents of KEY-data, else of the file that KEY names, else nothing.
  std::string pem(const YamlField& owner, std::string_view key) {
    const std::string field = pem_field(owner, key);
    const std::string value = owner.text(field);
    if (value.empty()) return {};
    Result<std::string> read =
        field == key ? files_.read(resolved(path_, value), kPemBytesMax) : decode_base64(value);
    if (read && !read->empty()) return *std::move(read);
    owner.refuse(field, read ? "is empty" : read.error().message);
    return {};
  }

  Files& files_;
  const std::string& path_;
  const KubeconfigChoice& choice_;
  Mistakes& mistakes_;
  ClusterConfig config_;
};

}  // namespace

Result<std::string> parse_server(std::string_view url) {
  if (std::string_view mistake = server_mistake(url); !mistake.empty()) {
    return fail(Outcome::invalid, fmt::format("{} {}", shown_url(std::string(url)), mistake));
  }
  return without_trailing_slash(std::string(url));
}

std::string host_of(const ClusterConfig& config) {
  const std::size_t scheme_end = config.server.find("://");
  const std::size_t begin = scheme_end == std::string::npos ? 0 : scheme_end + 3;
  return config.server.substr(begin, config.server.find('/', begin) - begin);
}

Result<ClusterConfig> load_kubeconfig(Files& files, const std::string& path,
                                      const KubeconfigChoice& choice) {
  const std::string text = TRY(files.read(path, kKubeconfigBytesMax));
  Mistakes mistakes;
  ClusterConfig config;
  const std::optional<YamlField> document = YamlField::document(path, text, mistakes);
  if (document) config = KubeconfigReader(files, path, choice, mistakes).read(*document);
  TRY(mistakes.result());
  return config;
}

Result<ClusterConfig> load_in_cluster(Files& files, const InClusterEnvironment& environment) {
  Mistakes mistakes;
  ClusterConfig config;
  if (environment.host.empty() || environment.port.empty()) {
    mistakes.add("",
                 "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are "
                 "not both set");
  } else {
    const bool is_ipv6 = environment.host.contains(':');
    const std::string host = is_ipv6 ? fmt::format("[{}]", environment.host) : environment.host;
    config.server = fmt::format("https://{}:{}", host, environment.port);
    if (std::string_view mistake = server_mistake(config.server); !mistake.empty()) {
      mistakes.add("KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT",
                   fmt::format("{} {}", shown_url(config.server), mistake));
    }
  }

  const std::string directory(kServiceAccountDirectory);
  config.token_file = directory + "/token";
  if (Result<Secret> token = read_token_file(files, config.token_file); !token) {
    mistakes.add("", token.error().message);
  }
  const std::string ca_file = directory + "/ca.crt";
  if (Result<std::string> ca = files.read(ca_file, kPemBytesMax); !ca) {
    mistakes.add("", ca.error().message);
  } else {
    config.tls.ca_pem = *std::move(ca);
    Result<> checked =
        config.tls.ca_pem.empty() ? fail(Outcome::invalid, "is empty") : net::check(config.tls);
    if (!checked) mistakes.add(ca_file, checked.error().message);
  }
  // A pod without it is unusual but works: the namespace is only a default.
  if (Result<std::string> name = files.read(directory + "/namespace", kNamespaceBytesMax); name) {
    config.name_space = trimmed(*name);
  }
  TRY(mistakes.result());
  return config;
}

}  // namespace isthmus::kube
