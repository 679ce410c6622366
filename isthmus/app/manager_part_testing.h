// What a part of the manager is given, for tests of parts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/app/manager_impl.h"
#include "isthmus/app/manager_testing.h"

namespace isthmus::app {

// Notes the keys that it is given.
class NotingReconciler final : public kube::Reconciler {
 public:
  explicit NotingReconciler(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  Task<Result<kube::Action>> reconcile(kube::ObjectKey key) override {
    keys.push_back(key.name);
    co_return kube::Action::done();
  }
  std::vector<std::string> keys;

 private:
  const std::string name_;
};

// Nobody has said anything.
class NoSafetySwitch final : public controllers::SafetySwitch {
 public:
  bool mutations_stopped() const override { return false; }
  bool is_acknowledged(std::string_view, WallTime) const override { return false; }
};

class PartFixture : public ManagerFixture {
 protected:
  OneManager one{world, api, "a"};
  ManagerOptions options;
  NoSafetySwitch safety;
  cloud::DeletionStop deletion_stop;
  ManagerDoors doors{world.loop, one.random, one.metrics, one.log,    api,
                     api,        api,        api,         *one.cloud, one.gate};
  kube::Broadcaster broadcaster{api, world.loop, one.random, one.metrics, one.log};
  Watched<kube::Node> nodes{doors, {}};
  PartContext context{.doors = doors,
                      .options = options,
                      .broadcaster = broadcaster,
                      .nodes = nodes,
                      .safety = safety,
                      .deletion_stop = deletion_stop,
                      .api = [this](std::string_view) -> kube::ApiDoor& { return api; }};
};

}  // namespace isthmus::app
