#include "isthmus/kube/config.h"

#include <gtest/gtest.h>

#include "isthmus/base/text.h"

namespace isthmus::kube {
namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kAlphabet[bits >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

const net::ServerTls& identity() {
  static const net::ServerTls made =
      net::make_self_signed("test", {"localhost"}, WallTime(std::chrono::seconds(1'767'225'600)))
          .value();
  return made;
}

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() {
    put("/etc/k/ca.crt", identity().certificate_pem);
    put("/etc/k/client.key", identity().private_key_pem.reveal());
    put("/etc/k/token", "secret-token\n");
  }

  void put(const std::string& path, std::string_view text) {
    ASSERT_TRUE(files.write(path, text, FileMode::owner_only).has_value());
  }

  // A kubeconfig of one context; the two blocks begin on lines 7 and 8 + lines of the cluster.
  Result<ClusterConfig> load(std::string_view cluster, std::string_view user,
                             const KubeconfigChoice& choice = {}) {
    std::string text =
        "apiVersion: v1\n"
        "kind: Config\n"
        "current-context: c\n"
        "contexts: [{name: c, context: {cluster: k, user: u, namespace: infra}}]\n"
        "clusters:\n"
        "- name: k\n"
        "  cluster:\n";
    put("/etc/k/config", text.append(cluster).append("users:\n- name: u\n  user:\n").append(user));
    return load_kubeconfig(files, "/etc/k/config", choice);
  }

  std::string mistakes(std::string_view cluster, std::string_view user,
                       const KubeconfigChoice& choice = {}) {
    const Result<ClusterConfig> config = load(cluster, user, choice);
    if (config) return "";
    EXPECT_EQ(config.outcome(), Outcome::invalid);
    EXPECT_EQ(config.error().message.find("secret-token"), std::string::npos);
    return config.error().message;
  }

  std::string mistakes_of_file(std::string_view text) {
    put("/etc/k/config", text);
    const Result<ClusterConfig> config = load_kubeconfig(files, "/etc/k/config");
    return config ? "" : config.error().message;
  }

  MemoryFiles files;
};

constexpr std::string_view kCluster = "    server: https://10.0.0.1:6443\n";
constexpr std::string_view kUser = "    token: secret-token\n";

TEST_F(ConfigTest, reads_files_beside_the_kubeconfig) {
  const Result<ClusterConfig> config = load(
      "    server: https://api.example:6443/prefix/\n"
      "    certificate-authority: ca.crt\n"
      "    tls-server-name: kubernetes\n"
      "    proxy-url: http://proxy.example:3128\n",
      "    client-certificate: /etc/k/ca.crt\n"
      "    client-key: client.key\n"
      "    tokenFile: token\n");

  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->server, "https://api.example:6443/prefix");
  EXPECT_EQ(config->tls.ca_pem, identity().certificate_pem);
  EXPECT_EQ(config->tls.server_name, "kubernetes");
  EXPECT_EQ(config->tls.certificate_pem, identity().certificate_pem);
  EXPECT_EQ(config->tls.private_key_pem, identity().private_key_pem);
  EXPECT_EQ(config->proxy, "http://proxy.example:3128");
  EXPECT_EQ(config->token_file, "/etc/k/token");
  EXPECT_TRUE(config->token.empty());
  EXPECT_EQ(config->name_space, "infra");
}

TEST_F(ConfigTest, reads_inline_data_which_counts_before_files) {
  const Result<ClusterConfig> config =
      load(std::string(kCluster) + "    certificate-authority: /nowhere\n" +
               "    certificate-authority-data: " + base64(identity().certificate_pem) + "\n",
           "    client-certificate-data: " + base64(identity().certificate_pem) + "\n" +
               "    client-key-data: " + base64(identity().private_key_pem.reveal()) + "\n" +
               std::string(kUser));

  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->tls.ca_pem, identity().certificate_pem);
  EXPECT_EQ(config->tls.certificate_pem, identity().certificate_pem);
  EXPECT_EQ(config->tls.private_key_pem, identity().private_key_pem);
  EXPECT_EQ(config->token.reveal(), "secret-token");
  EXPECT_EQ(config->token_file, "");
}

TEST_F(ConfigTest, json_is_a_kubeconfig_too) {
  put("/etc/k/config", R"({"current-context": "c",
      "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
      "clusters": [{"name": "k", "cluster": {"server": "https://h"}}],
      "users": [{"name": "u", "user": {}}]})");

  const Result<ClusterConfig> config = load_kubeconfig(files, "/etc/k/config");

  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->server, "https://h");
  EXPECT_EQ(config->tls.ca_pem, "");
}

TEST_F(ConfigTest, entries_of_other_contexts_are_not_looked_into) {
  const std::string text =
      "current-context: a\n"
      "contexts:\n"
      "- {name: a, context: {cluster: k, user: u}}\n"
      "- {name: b, context: {cluster: other, user: plugin}}\n"
      "clusters:\n"
      "- {name: k, cluster: {server: 'https://a:6443'}}\n"
      "- {name: other, cluster: {server: 'https://b:6443'}}\n"
      "users:\n"
      "- {name: u, user: {token: t}}\n"
      "- {name: plugin, user: {exec: {command: aws}}}\n";
  put("/etc/k/config", text);

  const Result<ClusterConfig> current = load_kubeconfig(files, "/etc/k/config");
  ASSERT_TRUE(current.has_value()) << current.error().message;
  EXPECT_EQ(current->server, "https://a:6443");

  const Result<ClusterConfig> other = load_kubeconfig(files, "/etc/k/config", {.context = "b"});
  EXPECT_EQ(other.error().message,
            "/etc/k/config: line 10: users[1].user.exec: runs a program of somebody else for every "
            "token, which is not supported: use token, tokenFile or a client certificate");

  const Result<ClusterConfig> none = load_kubeconfig(files, "/etc/k/config", {.context = "x"});
  EXPECT_EQ(none.error().message,
            "/etc/k/config: context \"x\" was asked for: is not among contexts: \"a\", \"b\"");
}

TEST_F(ConfigTest, the_server_can_be_chosen_by_flag) {
  const Result<ClusterConfig> config = load(kCluster, kUser, {.server = "https://other.example"});
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->server, "https://other.example");

  EXPECT_EQ(mistakes(kCluster, kUser, {.server = "ftp://x"}),
            "the server \"ftp://x\" that was asked for is neither https nor http");
}

TEST_F(ConfigTest, skipping_verification_is_refused_with_what_to_do_instead) {
  EXPECT_EQ(
      mistakes(std::string(kCluster) + "    insecure-skip-tls-verify: true\n", kUser),
      "/etc/k/config: line 9: clusters[0].cluster.insecure-skip-tls-verify: would let anybody "
      "play the API server and take the token; it is not supported: name its CA in "
      "certificate-authority, or the name in its certificate in tls-server-name");
  EXPECT_EQ(mistakes(std::string(kCluster) + "    insecure-skip-tls-verify: false\n", kUser), "");
}

TEST_F(ConfigTest, all_mistakes_are_reported_together) {
  EXPECT_EQ(
      mistakes("    server: 10.0.0.1:6443\n"
               "    certificate-authority: nowhere.crt\n"
               "    certifcate-authority-data: x\n",
               "    client-certificate-data: '?'\n"
               "    username: root\n"
               "    as: admin\n"
               "    tokenFile: nowhere\n"),
      "/etc/k/config: line 10: clusters[0].cluster.certifcate-authority-data: is no field that "
      "exists here; known are server, tls-server-name, insecure-skip-tls-verify, "
      "certificate-authority, certificate-authority-data, proxy-url, disable-compression, "
      "extensions\n"
      "/etc/k/config: line 8: clusters[0].cluster.server: \"10.0.0.1:6443\" is not a URL like "
      "https://HOST:PORT\n"
      "/etc/k/config: line 9: clusters[0].cluster.certificate-authority: /etc/k/nowhere.crt: "
      "no such file\n"
      "/etc/k/config: line 15: users[0].user.username: no API server since Kubernetes 1.19 "
      "accepts passwords\n"
      "/etc/k/config: line 16: users[0].user.as: acting as somebody else is not supported\n"
      "/etc/k/config: line 14: users[0].user.client-certificate-data: is not base64: "
      "character 1 is none of it\n"
      "/etc/k/config: line 14: users[0].user.client-key: is missing: client-certificate needs "
      "it\n"
      "/etc/k/config: line 17: users[0].user.tokenFile: /etc/k/nowhere: no such file");
}

TEST_F(ConfigTest, certificates_and_keys_are_checked_where_they_are_named) {
  put("/etc/k/bad.crt", "-----BEGIN NONSENSE-----\n");
  put("/etc/k/empty", "");
  const net::ServerTls other =
      net::make_self_signed("other", {}, WallTime(std::chrono::seconds(1'767'225'600))).value();
  put("/etc/k/other.key", other.private_key_pem.reveal());

  EXPECT_TRUE(
      mistakes(std::string(kCluster) + "    certificate-authority: bad.crt\n", kUser)
          .starts_with("/etc/k/config: line 9: clusters[0].cluster.certificate-authority: "));
  EXPECT_EQ(mistakes(std::string(kCluster) + "    certificate-authority: empty\n", kUser),
            "/etc/k/config: line 9: clusters[0].cluster.certificate-authority: is empty");
  EXPECT_TRUE(mistakes(kCluster, "    client-certificate: ca.crt\n    client-key: other.key\n")
                  .starts_with("/etc/k/config: line 12: users[0].user.client-certificate: "));
  EXPECT_EQ(
      mistakes(kCluster, "    client-key: client.key\n"),
      "/etc/k/config: line 12: users[0].user.client-certificate: is missing: client-key is of "
      "no use");
}

TEST(host_of, is_the_server_without_scheme_and_path) {
  EXPECT_EQ(host_of({.server = "https://10.0.0.1:6443"}), "10.0.0.1:6443");
  EXPECT_EQ(host_of({.server = "https://[2001:db8::1]:6443/prefix"}), "[2001:db8::1]:6443");
  EXPECT_EQ(host_of({.server = "https://api.example"}), "api.example");
  EXPECT_EQ(host_of({}), "");
}

TEST_F(ConfigTest, plain_http_is_for_this_host_only) {
  for (const char* server :
       {"http://localhost:8080", "http://127.0.0.1:8001", "http://[::1]:8001"}) {
    EXPECT_EQ(mistakes(std::string("    server: ") + server + "\n", kUser), "");
  }
  EXPECT_EQ(mistakes("    server: http://10.0.0.1:8080\n", kUser),
            "/etc/k/config: line 8: clusters[0].cluster.server: \"http://10.0.0.1:8080\" is plain "
            "http to another host, where anybody on the way reads the token; use https");
  EXPECT_NE(mistakes("    server: http://127.example.com:8080\n", kUser), "");
}

TEST_F(ConfigTest, a_server_name_that_is_none_is_refused) {
  EXPECT_EQ(mistakes("    server: https://h\n    tls-server-name: a/b\n", kUser),
            "/etc/k/config: line 9: clusters[0].cluster.tls-server-name: server name \"a/b\": is "
            "neither a DNS name nor an IP address");
}

TEST_F(ConfigTest, a_password_in_the_url_of_a_server_is_refused_and_not_shown) {
  EXPECT_EQ(mistakes("    server: https://me:pass@h\n", kUser),
            "/etc/k/config: line 8: clusters[0].cluster.server: \"https://\u2026@h\" is not a URL "
            "like https://HOST:PORT");
}

TEST_F(ConfigTest, a_server_that_is_no_url_is_refused) {
  for (const char* server :
       {"''", "https://", "https://h:0", "https://h:65536", "https://h:x", "https://u:p@h",
        "https://h?x", "https://[::1", "https://::1:6443", "ftp://h", "h", "'https://h x'"}) {
    EXPECT_TRUE(mistakes(std::string("    server: ") + server + "\n", kUser)
                    .starts_with("/etc/k/config: line 8: clusters[0].cluster.server: "))
        << server;
  }
}

TEST_F(ConfigTest, a_token_that_no_header_can_carry_is_refused) {
  EXPECT_EQ(mistakes(kCluster, "    token: \"secret-token \\r\\nX: 1\"\n"),
            "/etc/k/config: line 12: users[0].user.token: the token has characters that no header "
            "may carry");
}

TEST_F(ConfigTest, what_is_not_a_kubeconfig_says_so) {
  EXPECT_EQ(mistakes_of_file(""), "/etc/k/config: is not a kubeconfig: not a YAML map");
  EXPECT_EQ(mistakes_of_file("- a\n"), "/etc/k/config: is not a kubeconfig: not a YAML map");
  EXPECT_EQ(mistakes_of_file("a: 1\n---\nb: 1\n"),
            "/etc/k/config: holds more than one YAML document");
  EXPECT_TRUE(mistakes_of_file("a: 1\nb: [1\n").starts_with("/etc/k/config: line "));
  EXPECT_TRUE(mistakes_of_file("\x80\xff\n").starts_with("/etc/k/config: "));
  EXPECT_EQ(mistakes_of_file("kind: Pod\napiVersion: v2\n"),
            "/etc/k/config: line 1: kind: is not \"Config\"\n"
            "/etc/k/config: line 2: apiVersion: is not \"v1\"\n"
            "/etc/k/config: line 1: current-context: is missing, and no context was asked for");
  EXPECT_EQ(load_kubeconfig(files, "/nowhere").outcome(), Outcome::absent);
}

TEST_F(ConfigTest, references_to_nothing_are_named) {
  EXPECT_EQ(mistakes_of_file("current-context: c\n"),
            "/etc/k/config: line 1: current-context: \"c\": there are no contexts");
  EXPECT_EQ(mistakes_of_file("current-context: c\n"
                             "contexts:\n"
                             "- name: c\n"
                             "  context:\n"
                             "    cluster: k\n"
                             "clusters: {}\n"),
            "/etc/k/config: line 6: clusters: is not a list\n"
            "/etc/k/config: line 5: contexts[0].context.cluster: \"k\": there are no clusters\n"
            "/etc/k/config: line 5: contexts[0].context.user: is missing");
  EXPECT_EQ(mistakes_of_file("current-context: c\n"
                             "contexts:\n"
                             "- {name: c, context: x}\n"
                             "- {name: c, context: {}}\n"),
            "/etc/k/config: line 4: contexts[1].name: \"c\" is given twice\n"
            "/etc/k/config: line 3: contexts[0].context: is not a map");
}

TEST_F(ConfigTest, no_text_makes_it_crash) {
  put("/etc/k/config", "");
  ASSERT_TRUE(
      load(std::string(kCluster) + "    certificate-authority: ca.crt\n", kUser).has_value());
  const std::string whole = files.read("/etc/k/config", 1 << 20).value();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    mistakes_of_file(whole.substr(0, length));
    mistakes_of_file(std::string(whole).replace(length, 1, "\""));
    mistakes_of_file(std::string(whole).replace(length, 1, ":"));
    mistakes_of_file(std::string(whole).replace(length, 1, "&a *a"));
  }
  mistakes_of_file(std::string(100'000, '['));
  mistakes_of_file("a: &a [*a]\nclusters: *a\n");
}

class InClusterTest : public testing::Test {
 protected:
  void put(const std::string& name, std::string_view text) {
    const std::string path = std::string(kServiceAccountDirectory) + "/" + name;
    ASSERT_TRUE(files.write(path, text, FileMode::owner_only).has_value());
  }

  MemoryFiles files;
};

TEST_F(InClusterTest, a_pod_finds_its_server_and_its_identity) {
  put("token", "secret-token\n");
  put("ca.crt", identity().certificate_pem);
  put("namespace", "kube-system\n");

  const Result<ClusterConfig> config = load_in_cluster(files, {"10.96.0.1", "443"});

  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->server, "https://10.96.0.1:443");
  EXPECT_EQ(config->tls.ca_pem, identity().certificate_pem);
  EXPECT_EQ(config->token_file, "/var/run/secrets/kubernetes.io/serviceaccount/token");
  EXPECT_EQ(config->name_space, "kube-system");

  const Result<ClusterConfig> ipv6 = load_in_cluster(files, {"fd00::1", "443"});
  ASSERT_TRUE(ipv6.has_value()) << ipv6.error().message;
  EXPECT_EQ(ipv6->server, "https://[fd00::1]:443");
}

TEST_F(InClusterTest, everything_that_is_missing_is_reported_together) {
  const Result<ClusterConfig> config = load_in_cluster(files, {});

  ASSERT_EQ(config.outcome(), Outcome::invalid);
  EXPECT_EQ(
      config.error().message,
      "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set\n"
      "/var/run/secrets/kubernetes.io/serviceaccount/token: no such file\n"
      "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt: no such file");
}

TEST_F(InClusterTest, what_is_wrong_is_named) {
  put("token", "");
  put("ca.crt", "nonsense");

  const Result<ClusterConfig> config = load_in_cluster(files, {"10.96.0.1", "https"});

  ASSERT_EQ(config.outcome(), Outcome::invalid);
  EXPECT_TRUE(config.error().message.starts_with(
      "KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT: \"https://10.96.0.1:https\" is not a URL "
      "like https://HOST:PORT\n"
      "/var/run/secrets/kubernetes.io/serviceaccount/token: the token is empty\n"
      "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt: "))
      << config.error().message;
}

}  // namespace
}  // namespace isthmus::kube
