#include "isthmus/app/run_flags_impl.h"

#include "isthmus/base/rate_limit.h"

namespace isthmus::app {
namespace {

constexpr std::int64_t kBurstMax = 100'000;

}  // namespace

void add_generic_flags(FlagTable& table, GenericFlags& flags) {
  const std::string group = "Generic flags";
  table.text("config", flags.config, group,
             "Path of a YAML file with values of flags, by their names; the command line counts "
             "before it.");
  table.text("cloud-provider", flags.cloud_provider, group,
             "Provider that knows the machines: isthmus. Required.");
  table.text("cloud-config", flags.cloud_config, group, "Path of the provider's configuration.");
  table.text("cluster-name", flags.cluster_name, group,
             "Name of the cluster, for people; ownership goes by the uid of kube-system.");
  table.list("controllers", flags.controllers, group,
             "Controllers to run, comma-separated: * for all, NAME for one, -NAME for all but it.");
  table.boolean("dry-run", flags.dry_run, group,
                "Write nothing, neither to Kubernetes nor to the cloud, and log what would be "
                "done and why. No lease is taken.");
  table.text("kubeconfig", flags.kubeconfig, group,
             "Path of a kubeconfig; empty means the in-cluster configuration.");
  table.text("master", flags.master, group,
             "URL of the API server; overrides the one in the kubeconfig.");
  table.number("kube-api-qps", flags.kube_api_qps, TokenBucket::kQpsMin, TokenBucket::kQpsMax,
               group, "Requests per second to the API server, watches and leases not counted.");
  table.integer("kube-api-burst", flags.kube_api_burst, 1, kBurstMax, group,
                "How many of these requests may go at once.");
  table.boolean("use-service-account-credentials", flags.use_service_account_credentials, group,
                "Each controller speaks to the API server as a ServiceAccount of its own in "
                "kube-system.");
  table.duration("controller-start-interval", flags.controller_start_interval, group,
                 "Pause between the starts of two controllers, at random up to twice as long.");
  table.add({.name = "feature-gates",
             .is_list = true,
             .group = group,
             .help = "Switches of upstream's by name, comma-separated: A=true,B=false.",
             .composite = Flag::Composite::map,
             .set = [&gates = flags.feature_gates](std::string_view value) -> Result<> {
               gates = TRY(FeatureGates::parse(value));
               return {};
             }});
}

void check_generic_flags(const GenericFlags& flags, Mistakes& mistakes) {
  if (flags.cloud_provider.empty()) {
    mistakes.add("--cloud-provider", "is required, as in --cloud-provider=isthmus");
  }
}

}  // namespace isthmus::app
