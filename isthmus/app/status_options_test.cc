#include "isthmus/app/status_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class status_options : public testing::Test {
 protected:
  StatusTarget of(const StatusOptions& options) { return status_target(files, options, mistakes); }

  MemoryFiles files;
  Mistakes mistakes;
};

TEST_F(status_options, ask_the_default_socket_when_nothing_is_said) {
  EXPECT_EQ(of({}), (StatusTarget{"unix:///run/isthmus/infra.sock", "", ""}));
  EXPECT_EQ(of({.socket = "/x.sock", .token_file = "/t"}),
            (StatusTarget{"unix:///x.sock", "", "/t"}));
  EXPECT_THAT(mistakes.list(), IsEmpty());
}

TEST_F(status_options, take_one_place_only) {
  of({.url = "https://lb1:1", .socket = "/x.sock"});
  EXPECT_THAT(mistakes.list(), ElementsAre(HasSubstr("at most one")));
}

TEST_F(status_options, a_token_is_never_sent_in_the_open) {
  of({.url = "http://lb1.example:10280"});
  EXPECT_THAT(mistakes.list(), ElementsAre(HasSubstr("in the open")));
}

TEST_F(status_options, a_url_that_is_none_is_named_with_everything_else_that_is_wrong) {
  of({.url = "lb1", .ca_file = "/ca"});
  EXPECT_EQ(mistakes.count(), 2u);
}

TEST_F(status_options, http_to_this_very_machine_is_taken) {
  EXPECT_EQ(of({.url = "http://127.0.0.1:80"}).url, "http://127.0.0.1:80");
  EXPECT_EQ(of({.url = "http://[::1]:80"}).url, "http://[::1]:80");
  EXPECT_THAT(mistakes.list(), IsEmpty());
}

TEST_F(status_options, a_configuration_says_where_the_backend_listens_and_who_asks) {
  ASSERT_TRUE(files.write("/infra.yaml",
                          "listen: [\"http://127.0.0.1:8080\", \"unix:/i.sock\"]\n"
                          "store: {sqlite: /infra.db}\nadminTokenFile: /admin\n"
                          "owners: [{name: prod, tokenFile: /prod}]\n",
                          FileMode::owner_only));
  EXPECT_EQ(of({.config = "/infra.yaml"}), (StatusTarget{"unix:///i.sock", "", "/admin"}));
  EXPECT_EQ(of({.config = "/infra.yaml", .token_file = "/prod"}).token_file, "/prod");
  EXPECT_THAT(mistakes.list(), IsEmpty());
}

TEST_F(status_options, a_configuration_that_is_missing_is_named) {
  of({.config = "/none.yaml"});
  EXPECT_THAT(mistakes.list(), ElementsAre(HasSubstr("/none.yaml")));
}

TEST_F(status_options, the_table_fills_the_options) {
  StatusOptions options;
  const ParsedFlags parsed =
      status_flags(options).parse({"-o", "json", "--owner=prod", "--socket", "/x.sock"});
  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  EXPECT_EQ(options.output, "json");
  EXPECT_EQ(options.owner, "prod");
  EXPECT_EQ(options.socket, "/x.sock");
}

}  // namespace
}  // namespace isthmus::app
