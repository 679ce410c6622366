// Flags that manifests written for the Go framework have and that mean nothing here: their values
// are judged as those of our own flags, taken, and the log says once that they have no effect.
#include "isthmus/app/run_flags_impl.h"

#include "isthmus/base/ip.h"
#include "isthmus/base/text.h"

namespace isthmus::app {
namespace {

void add_generic(FlagTable& table, CompatibilityFlags& flags) {
  const std::string group = "Generic flags";
  table.boolean("allocate-node-cidrs", flags.allocate_node_cidrs, group,
                "No effect: the pod ranges of Nodes are kube-controller-manager's to allocate.");
  table.text("cidr-allocator-type", flags.cidr_allocator_type, group,
             "No effect: the pod ranges of Nodes are kube-controller-manager's to allocate.");
  table.duration("node-sync-period", flags.node_sync_period, group,
                 "No effect, nor upstream; see --node-status-update-frequency.");
  table.boolean("allow-untagged-cloud", flags.allow_untagged_cloud, group,
                "No effect: what is ours carries the uid of the cluster, always.");
  table.text("external-cloud-volume-plugin", flags.external_cloud_volume_plugin, group,
             "No effect: there are no volumes here.");
  table.duration("min-resync-period", flags.min_resync_period, group,
                 "No effect: what is compared without a change has a period of its own.");
  table.choice("kube-api-content-type", flags.kube_api_content_type,
               {"application/json", "application/vnd.kubernetes.protobuf", "application/cbor"},
               group, "No effect: the API server is spoken to in JSON.");
  table.integer("concurrent-node-status-updates", flags.concurrent_node_status_updates, 0,
                kWorkersMax, "cloud-node-controller flags",
                "No effect: all work on Nodes shares one queue; see --concurrent-node-syncs.");
}

void add_webhooks(FlagTable& table, CompatibilityFlags::Webhooks& webhooks) {
  const std::string group = "Webhook flags";
  const std::string none = "No effect: no provider here has webhooks.";
  table.list("webhooks", webhooks.names, group, none);
  table.text("webhook-bind-address", webhooks.bind_address, group, none);
  table.integer("webhook-secure-port", webhooks.secure_port, 0, kPortMax, group, none);
  table.text("webhook-cert-dir", webhooks.cert_dir, group, none);
  table.text("webhook-tls-cert-file", webhooks.tls.cert_file, group, none);
  table.text("webhook-tls-private-key-file", webhooks.tls.private_key_file, group, none);
  table.list("webhook-tls-cipher-suites", webhooks.tls.cipher_suites, group, none);
  table.list("webhook-tls-curve-preferences", webhooks.tls.curve_preferences, group, none);
  table.text("webhook-tls-min-version", webhooks.tls.min_version, group, none);
  table.list("webhook-tls-sni-cert-key", webhooks.tls_sni_cert_key, group, none);
  table.boolean("webhook-disable-http2-serving", webhooks.disable_http2_serving, group, none);
}

}  // namespace

void add_compatibility_flags(FlagTable& table, CompatibilityFlags& flags) {
  const std::size_t before = table.flags().size();
  add_generic(table, flags);
  add_webhooks(table, flags.webhooks);
  table.mark_without_effect(before);
}

void check_compatibility_flags(const CompatibilityFlags& flags, const ServingFlags& serving,
                               Mistakes& mistakes) {
  const CompatibilityFlags::Webhooks& webhooks = flags.webhooks;
  for (const std::string_view part : split(webhooks.names, ',')) {
    const std::string_view name = trimmed(part);
    if (name.empty() || name == "*") continue;
    mistakes.add("--webhooks", quoted(name) + " is no webhook; there are none");
  }
  if (!parse_ip(webhooks.bind_address)) {
    mistakes.add("--webhook-bind-address", quoted(webhooks.bind_address) + " is no IP address");
  }
  if (webhooks.secure_port != 0 && webhooks.secure_port == serving.secure_port) {
    mistakes.add("--webhook-secure-port", "must differ from --secure-port");
  }
  check_tls_flags("webhook-", webhooks.tls, mistakes);
  // Names may follow the two files, and further pairs, all of them with commas.
  const std::string_view by_name = webhooks.tls_sni_cert_key;
  const std::vector<std::string_view> files = split(by_name.substr(0, by_name.find(':')), ',');
  if (!by_name.empty() && (files.size() < 2 || files[0].empty() || files[1].empty())) {
    mistakes.add("--webhook-tls-sni-cert-key",
                 quoted(by_name) + " is not CERTIFICATE,KEY or CERTIFICATE,KEY:NAME,…");
  }
}

}  // namespace isthmus::app
