#include "isthmus/controllers/cluster_identity.h"

#include <utility>

#include <fmt/format.h>

#include "isthmus/kube/api/decode.h"

namespace isthmus::controllers {

Task<Result<cloud::ClusterUid>> read_cluster_uid(kube::ApiDoor& api) {
  const kube::ObjectName name{kube::Namespace::resource, {"", "kube-system"}};
  Result<std::string> answer = co_await api.get(name);
  if (!answer) co_return fail("reading the namespace kube-system", std::move(answer.error()));
  kube::Decoder decoder;
  const Result<kube::Namespace> found = decoder.object<kube::Namespace>(*answer, name.key);
  if (!found) co_return fail("reading the namespace kube-system", found.error());
  Result<cloud::ClusterUid> uid = cloud::ClusterUid::parse(found->meta.uid);
  // A uid that is none says nothing about who we are, and is no mistake that anybody can correct.
  if (!uid) co_return fail(Outcome::lost, "the namespace kube-system: " + uid.error().message);
  co_return uid;
}

Task<Result<>> confirm_cluster(kube::ApiDoor& api, cloud::ClusterUid cluster) {
  const cloud::ClusterUid now = CO_TRY(co_await read_cluster_uid(api));
  if (now.text() == cluster.text()) co_return Result<>{};
  co_return fail(
      Outcome::conflict,
      fmt::format("the API server's namespace kube-system has another uid than when we began ({}): "
                  "it has lost its store, or is another cluster's. If that is as it should be, "
                  "start this manager anew",
                  now.text()));
}

}  // namespace isthmus::controllers
