// A Service that shall have no load balancer, or is no more: the cloud first, then the status, and
// the finalizer last, so that cut off anywhere the next run finds the finalizer and asks again.
#include "isthmus/controllers/service_impl.h"

#include <utility>

#include "isthmus/controllers/cluster_identity.h"
#include "isthmus/controllers/service_notices.h"

namespace isthmus::controllers {

// The release is asked for whatever is known: only the cloud can say that no remnant exists.
Task<Result<ServiceController::Inside::Step>> ServiceController::Inside::release(ServicePtr service,
                                                                                 ReleaseService act,
                                                                                 Notices notices) {
  ServiceRecord* record = &book.at(act.name, service->meta.key, service->meta.uid);
  if (record->existed && !std::exchange(record->deleting_told, true)) {
    event(*service, false, kDeletingReason, "Deleting load balancer");
  }
  record->may_switch = false;
  note_call(service->meta.key);
  Result<> gone = co_await release_one(act.name);
  record = &book.at(act.name, service->meta.key, service->meta.uid);
  if (gone.outcome() == Outcome::busy) {
    tell(*service, std::move(notices));
    const bool is_told_when = gone.error().retry_after > Duration::zero() || follows;
    if (is_told_when) co_return std::unexpected(std::move(gone.error()));
    co_return Finished{kube::Action::again_after(options.unsettled_again_after)};
  }
  if (!gone) {
    co_return std::unexpected(
        cloud_failed(*service, std::move(notices), delete_failed(gone.error()), gone.error()));
  }
  if (std::exchange(record->existed, false)) {
    event(*service, false, kDeletedReason, "Deleted load balancer");
  }
  if (act.clear_status) {
    Result<ServiceWrites::Written> written = co_await writes.publish(service, {});
    if (!written) {
      co_return std::unexpected(
          write_failed(*service, std::move(notices), std::move(written.error())));
    }
    if (!written->done) {
      if (!written->service) forget(act.name);  // Gone, and what it had before it.
      co_return LookAgain{std::move(written->service)};
    }
    service = std::move(written->service);
  }
  if (act.remove_finalizer) {
    Result<ServiceWrites::Written> written = co_await writes.remove_finalizer(service);
    if (!written) {
      co_return std::unexpected(
          write_failed(*service, std::move(notices), std::move(written.error())));
    }
    if (!written->done) {
      if (!written->service) forget(act.name);
      co_return LookAgain{std::move(written->service)};
    }
  }
  log.info("load balancer released",
           {{"service", to_string(service->meta.key)}, {"name", act.name}, {"why", act.why}});
  tell(*service, std::move(notices));
  forget(act.name);
  co_return Finished{kube::Action::done()};
}

Task<Result<>> ServiceController::Inside::release_one(std::string name) {
  if (ServiceRecord* record = book.find(name)) {
    record->releasing = true;
    record->fingerprint.clear();
  }
  metrics.syncs.add();
  Result<> gone = co_await cloud.release(name);
  if (gone.outcome() == Outcome::absent) gone = {};  // What is not there is gone.
  if (ServiceRecord* record = gone ? book.find(name) : nullptr) record->state.reset();
  co_return gone;
}

// What earlier Services of this name had goes first: the new one may want the same address.
Task<Result<>> ServiceController::Inside::release_namesakes(ServicePtr service) {
  for (const std::string& name : book.of(service->meta.key)) {
    const ServiceRecord* record = book.find(name);
    if (record == nullptr || record->uid == service->meta.uid) continue;
    Result<> gone = co_await release_namesake(name);
    if (!gone) {
      if (gone.outcome() == Outcome::busy) co_return gone;
      Error error = std::move(gone.error());
      error.message = "the one of an earlier Service of this name: " + error.message;
      co_return std::unexpected(cloud_failed(*service, {}, delete_failed(error), error));
    }
    log.info("load balancer of an earlier Service of this name released",
             {{"service", to_string(service->meta.key)}, {"name", name}});
    forget(name);
  }
  co_return Result<>{};
}

// A new Service shows that the API server knows what it says, but not of which cluster.
Task<Result<>> ServiceController::Inside::release_namesake(std::string name) {
  CO_TRY(co_await confirm_cluster(api, *cluster));
  Result<> gone = co_await release_one(std::move(name));
  co_return gone;
}

// The Service is gone without us: its finalizer was taken away by hand, or the API server has lost
// it. From here the two look alike, so a release goes on only where the Service itself had asked
// for it; all else is left to ServiceOrphans. Where an ensure was never answered, the cloud is
// asked what came of it.
Task<Result<kube::Action>> ServiceController::Inside::part_from_vanished(kube::ObjectKey key) {
  teller.forget(key);
  contested.forget(key);
  refused.erase(key);
  for (const std::string& name : book.of(key)) {
    ServiceRecord* record = book.find(name);
    if (record == nullptr) continue;
    if (record->releasing) {
      CO_TRY(co_await release_one(name));
      log.info("load balancer of a vanished Service released",
               {{"service", to_string(key)}, {"name", name}});
      forget(name);
      continue;
    }
    if (!record->state) CO_TRY(co_await ask(name));
    record = book.find(name);
    if (record != nullptr && record->state) {
      book.disown(name);
    } else {
      forget(name);
    }
  }
  co_return kube::Action::done();
}

}  // namespace isthmus::controllers
