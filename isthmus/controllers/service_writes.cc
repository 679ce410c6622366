#include "isthmus/controllers/service_writes.h"

#include <memory>
#include <string>
#include <utility>

#include "isthmus/controllers/service_plan.h"
#include "isthmus/kube/checked_patch.h"

namespace isthmus::controllers {

ServiceWrites::ServiceWrites(kube::Store<kube::Service>& services, kube::ApiDoor& api,
                             kube::Projection projection)
    : api_(api), newest_(services), decoder_(projection) {
  services.subscribe([this](const kube::Difference<kube::Service>& difference) {
    const auto ended = ended_.find(difference.key);
    if (ended == ended_.end()) return;
    const bool still_shown = difference.after && difference.after->meta.uid == ended->second;
    if (!still_shown) ended_.erase(ended);
  });
}

ServicePtr ServiceWrites::newest(const kube::ObjectKey& key) const {
  ServicePtr found = newest_.find(key);
  const auto ended = ended_.find(key);
  const bool has_ended = found && ended != ended_.end() && found->meta.uid == ended->second;
  return has_ended ? nullptr : found;
}

Task<Result<ServiceWrites::Written>> ServiceWrites::add_finalizer(ServicePtr service) {
  kube::Patch body = kube::add_finalizer_patch(service->meta, kServiceFinalizer);
  Result<Written> written = co_await patch(std::move(service), std::move(body));
  co_return written;
}

Task<Result<ServiceWrites::Written>> ServiceWrites::remove_finalizer(ServicePtr service) {
  kube::Patch body = kube::remove_finalizer_patch(service->meta, kServiceFinalizer);
  const ServicePtr before = service;
  Result<Written> written = co_await patch(std::move(service), std::move(body));
  const bool was_the_end = written && written->done && written->service->meta.deletion_time &&
                           written->service->meta.finalizers.empty();
  if (!was_the_end) co_return written;
  const ServicePtr shown = newest_.find(before->meta.key);
  if (shown && shown->meta.uid == before->meta.uid) ended_[before->meta.key] = before->meta.uid;
  co_return Written{true, nullptr};
}

Task<Result<ServiceWrites::Written>> ServiceWrites::publish(
    ServicePtr service, std::vector<kube::LoadBalancerIngress> ingress) {
  kube::Patch body = kube::service_ingress_patch(kube::same_object(service->meta), ingress);
  Result<Written> written = co_await patch(std::move(service), std::move(body));
  co_return written;
}

// The server also calls a finalizer invalid that comes after the deletion, so after any refusal the
// Service is looked at: only one that has not changed is really refused.
Task<Result<ServiceWrites::Written>> ServiceWrites::patch(ServicePtr service, kube::Patch patch) {
  const kube::ObjectName name = kube::name_of(*service);
  Result<std::string> answer = co_await kube::checked_patch(
      api_, {.object = name, .subresource = "status", .patch = std::move(patch)});
  if (answer.outcome() == Outcome::absent) co_return Written{false, nullptr};
  if (answer.outcome() == Outcome::conflict || answer.outcome() == Outcome::invalid) {
    ServicePtr live = CO_TRY(co_await read_live(name.key));
    const bool has_changed = !live || live->meta.resource_version != service->meta.resource_version;
    if (!has_changed) co_return std::unexpected(std::move(answer.error()));
    if (live) newest_.learn(*service, live);
    co_return Written{false, std::move(live)};
  }
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  kube::Service after = CO_TRY(decoder_.object<kube::Service>(*answer, name.key));
  if (after.meta.uid != service->meta.uid) {
    co_return fail(Outcome::lost, "another Service answered");
  }
  auto written = std::make_shared<const kube::Service>(std::move(after));
  newest_.learn(*service, written);
  co_return Written{true, std::move(written)};
}

Task<Result<ServicePtr>> ServiceWrites::read_live(kube::ObjectKey key) {
  Result<std::string> answer = co_await api_.get({kube::Service::resource, key});
  if (answer.outcome() == Outcome::absent) co_return nullptr;
  if (!answer) co_return fail("reading the Service live", std::move(answer.error()));
  kube::Service live = CO_TRY(decoder_.object<kube::Service>(*answer, key));
  co_return std::make_shared<const kube::Service>(std::move(live));
}

}  // namespace isthmus::controllers
