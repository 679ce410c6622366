#include "isthmus/infra/inventory_file.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPath = "/etc/isthmus/inventory.yaml";
constexpr std::string_view kTwo = "instances:\n- {uid: a, name: a}\n- {uid: b, name: b}\n";

class inventory_file : public testing::Test {
 protected:
  void write(std::string_view text) {
    ASSERT_TRUE(files.write(kPath, text, FileMode::world_readable));
  }
  // The file is kept loaded for a while.
  void watch_for(Duration time) {
    EXPECT_EQ(world.run(with_timeout(time, file.keep_loaded())).outcome(), Outcome::deadline);
  }
  std::string machines() {
    std::string text;
    auto snapshot = world.run(instances.latest()).value();
    for (const auto& [uid, record] : snapshot->records) {
      text += uid + ":" + std::string(to_string(record->instance.presence)) + " ";
    }
    return text;
  }
  double metric(std::string_view line_start) {
    std::string text = metrics.text();
    std::size_t at = text.find("\n" + std::string(line_start) + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + line_start.size() + 2));
  }

  VirtualWorld world;
  MemoryFiles files;
  Metrics metrics;
  MemoryLogger log;
  std::unique_ptr<Store> store = open_sqlite_store(":memory:").value();
  Instances instances{*store, world.loop};
  InventoryFile file{files, kPath, instances, world.loop, metrics, log};
};

TEST_F(inventory_file, is_loaded_at_once_when_asked) {
  write(kTwo);
  ASSERT_TRUE(world.run(file.load()));
  EXPECT_EQ(machines(), "a:present b:present ");
  EXPECT_EQ(file.trouble(), std::nullopt);
}

TEST_F(inventory_file, is_loaded_again_when_it_changed_and_settled) {
  write(kTwo);
  ASSERT_TRUE(world.run(file.load()));
  watch_for(3s);
  write("instances:\n- {uid: a, name: a}\n");
  watch_for(kFileCheckPeriod + 1ms);
  EXPECT_EQ(machines(), "a:present b:present ");
  watch_for(kFileCheckPeriod + 1ms);
  EXPECT_EQ(machines(), "a:present b:unknown ");
  EXPECT_TRUE(log.mentions("not gone\" uids=\"b\""));
  EXPECT_EQ(metric("infra_inventory_loads_total{result=\"ok\"}"), 2);
}

TEST_F(inventory_file, that_does_not_change_is_not_loaded_again) {
  write(kTwo);
  ASSERT_TRUE(world.run(file.load()));
  watch_for(1h);
  EXPECT_EQ(metric("infra_inventory_loads_total{result=\"ok\"}"), 1);
}

TEST_F(inventory_file, with_mistakes_changes_nothing_and_says_so_until_it_is_right) {
  write(kTwo);
  ASSERT_TRUE(world.run(file.load()));
  write("instances:\n- {uid: a, name: Bad_Name}\n- {name: no-uid}\n- {uid: c, name: c}\n");
  watch_for(10s);
  EXPECT_EQ(machines(), "a:present b:present ");
  ASSERT_TRUE(file.trouble());
  EXPECT_TRUE(file.trouble()->starts_with("2 mistakes, the first: " + std::string(kPath) +
                                          ": line 2: instances[0].name"))
      << *file.trouble();
  EXPECT_TRUE(log.mentions("line 2"));
  EXPECT_TRUE(log.mentions("line 3"));
  EXPECT_EQ(metric("infra_inventory_mistakes"), 2);
  EXPECT_EQ(metric("infra_inventory_loads_total{result=\"refused\"}"), 1);

  write("instances:\n- {uid: a, name: a}\n- {uid: c, name: c}\n");
  watch_for(2s);
  EXPECT_EQ(machines(), "a:present b:unknown c:present ");
  EXPECT_EQ(file.trouble(), std::nullopt);
  EXPECT_EQ(metric("infra_inventory_mistakes"), 0);
}

TEST_F(inventory_file, with_mistakes_at_the_start_is_invalid_with_all_of_them) {
  write("instances:\n- {uid: a, name: Bad_Name}\n- {name: no-uid}\n");
  Result<> result = world.run(file.load());
  ASSERT_EQ(result.outcome(), Outcome::invalid);
  EXPECT_NE(result.error().message.find("line 2"), std::string::npos);
  EXPECT_NE(result.error().message.find("line 3"), std::string::npos);
  EXPECT_EQ(machines(), "");
}

TEST_F(inventory_file, that_lists_a_retired_uid_again_is_refused_with_line_and_way_out) {
  write("instances:\n- {uid: a, name: a}\n- {uid: b, name: b, state: retired}\n");
  ASSERT_TRUE(world.run(file.load()));
  write("instances:\n- {uid: a, name: a2}\n\n- {uid: b, name: b}\n");
  const std::string mistake =
      std::string(kPath) +
      ": line 4: uid b was retired on 2026-01-01T00:00:00Z and never names a machine again: if "
      "this one is there, give it a new uid; if it is gone, take the line out, or say state: "
      "retired";
  watch_for(2s);
  EXPECT_EQ(machines(), "a:present b:absent ");
  EXPECT_EQ(file.trouble(), mistake);
  EXPECT_TRUE(log.mentions("inventory not loaded, the last good one stays"));

  Instances restarted(*store, world.loop);
  InventoryFile first(files, kPath, restarted, world.loop, metrics, log);
  const Result<> refused = world.run(first.load());
  EXPECT_EQ(refused.outcome(), Outcome::invalid);
  EXPECT_EQ(refused.error().message, mistake) << "what a start says that is refused";
}

TEST_F(inventory_file, that_is_gone_takes_no_machine_with_it) {
  EXPECT_EQ(world.run(file.load()).outcome(), Outcome::absent);
  write(kTwo);
  watch_for(2s);
  EXPECT_EQ(machines(), "a:present b:present ");
  ASSERT_TRUE(files.remove(kPath));
  watch_for(2s);
  EXPECT_EQ(machines(), "a:present b:present ");
  EXPECT_TRUE(file.trouble());
  write(kTwo);
  watch_for(2s);
  EXPECT_EQ(file.trouble(), std::nullopt);
}

TEST_F(inventory_file, that_was_emptied_by_accident_takes_no_machine_with_it) {
  write(kTwo);
  ASSERT_TRUE(world.run(file.load()));
  write("");
  watch_for(2s);
  EXPECT_EQ(machines(), "a:present b:present ");
  EXPECT_TRUE(file.trouble());
}

TEST_F(inventory_file, a_restarted_server_remembers_machines_whose_lines_vanished_meanwhile) {
  write(kTwo);
  ASSERT_TRUE(world.run(file.load()));
  write("instances:\n- {uid: a, name: a}\n");
  Instances restarted(*store, world.loop);
  InventoryFile again(files, kPath, restarted, world.loop, metrics, log);
  ASSERT_TRUE(world.run(again.load()));
  EXPECT_EQ(machines(), "a:present b:unknown ");
}

}  // namespace
}  // namespace isthmus::infra
