#include "isthmus/infra/yaml_reader.h"

#include <gtest/gtest.h>

#include <functional>

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

// What is wrong with a text, when it is read so.
Lines mistakes_of(std::string_view text, const std::function<void(YamlReader&)>& read) {
  YamlMistakes mistakes;
  if (std::optional<YamlNode> document = parse_yaml(text, mistakes)) {
    YamlReader reader(*document, mistakes);
    read(reader);
  }
  return mistakes.sorted().list();
}

Lines syntax_of(std::string_view text) {
  return mistakes_of(text, [](YamlReader&) {});
}

TEST(yaml_reader, reads_maps_lists_and_scalars) {
  Lines mistakes = mistakes_of(
      "# ours\nname: lb1\nempty: \"\"\non: true\nwait: 1m30s\nlist:\n- a\n- \"7\"\nmap: {k: v}\n",
      [](YamlReader& file) {
        EXPECT_EQ(file.required("name").text(), "lb1");
        EXPECT_EQ(file.required("empty").text_or_empty(), "");
        EXPECT_TRUE(file.required("on").boolean());
        EXPECT_EQ(file.required("wait").duration(), 90s);
        auto list = file.required("list").elements(2);
        ASSERT_EQ(list.size(), 2u);
        EXPECT_EQ(list[1].text(), "7");
        EXPECT_EQ(list[1].line(), 8);
        EXPECT_EQ(list[1].path(), "list[1]");
        auto map = file.required("map").members(5);
        ASSERT_EQ(map.size(), 1u);
        EXPECT_EQ(map[0].key, "k");
        EXPECT_EQ(map[0].value.text(), "v");
        EXPECT_FALSE(file.optional("none"));
        file.no_other_keys();
      });
  EXPECT_EQ(mistakes, Lines{});
}

TEST(yaml_reader, json_is_yaml) {
  EXPECT_EQ(mistakes_of(R"({"a": "1", "b": [{"c": true}]})",
                        [](YamlReader& file) {
                          EXPECT_EQ(file.required("a").text(), "1");
                          EXPECT_TRUE(file.required("b").elements(1)[0].required("c").boolean());
                          file.no_other_keys();
                        }),
            Lines{});
}

TEST(yaml_reader, names_every_mistake_by_line_and_key_in_the_order_of_lines) {
  Lines mistakes = mistakes_of("name: [a]\npower: on\nrack: 7\nlisen: x\nwait: soon\nlist: x\n",
                               [](YamlReader& file) {
                                 file.optional("listen");
                                 file.required("list").elements(1);
                                 file.required("wait").duration();
                                 file.required("rack").text();
                                 file.required("power").choice({"running", "stopped"});
                                 file.required("name").text();
                                 file.required("uid", "it is permanent").text();
                                 file.no_other_keys();
                               });
  EXPECT_EQ(mistakes,
            (Lines{"line 1: name: expected a text, found a list",
                   "line 1: uid is required: it is permanent",
                   "line 2: power: expected one of running, stopped, found \"on\"",
                   "line 3: rack: expected a text, found a number: write it in quotes, \"7\"",
                   "line 4: unknown key \"lisen\"; did you mean listen?",
                   "line 5: wait: expected a duration such as 5m or 1h30m, found \"soon\"",
                   "line 6: list: expected a list, found \"x\""}));
}

TEST(yaml_reader, a_key_given_twice_is_a_mistake) {
  EXPECT_EQ(syntax_of("a: 1\nb: 2\na: 3\n"),
            (Lines{"line 3: \"a\" is given twice in one place, first in line 1"}));
  EXPECT_EQ(syntax_of("a: {c: 1}\nb: {c: 1}\n"), Lines{});
}

TEST(yaml_reader, aliases_tags_and_second_documents_are_mistakes) {
  EXPECT_EQ(syntax_of("a: &x 1\nb: *x\n"),
            (Lines{"line 2: aliases (*name) are not read: write the value out"}));
  EXPECT_EQ(syntax_of("a: !!binary x\n").size(), 1u);
  EXPECT_EQ(syntax_of("a: 1\n---\nb: 2\n").size(), 1u);
  EXPECT_EQ(syntax_of("? [a]\n: 1\n").size(), 1u);
}

TEST(yaml_reader, what_is_beyond_plain_yaml_hides_no_other_mistake) {
  Lines mistakes =
      mistakes_of("a: &x one\na: 2\nb: *x\nc: !!binary [d]\ne: 7\nf: 1\n", [](YamlReader& file) {
        EXPECT_EQ(file.required("a").text(), "one");
        EXPECT_EQ(file.required("b").text(), "");
        EXPECT_TRUE(file.required("b").elements(1).empty());
        file.required("c").text();
        file.required("e").text();
        file.no_other_keys();
      });
  EXPECT_EQ(mistakes,
            (Lines{"line 2: \"a\" is given twice in one place, first in line 1",
                   "line 3: aliases (*name) are not read: write the value out",
                   "line 4: tags (\"tag:yaml.org,2002:binary\") are not read",
                   "line 4: c: expected a text, found a list",
                   "line 5: e: expected a text, found a number: write it in quotes, \"7\"",
                   "line 6: unknown key \"f\""}));
}

TEST(yaml_reader, what_is_not_yaml_is_one_mistake_with_its_line) {
  Lines mistakes = syntax_of("a: 1\nb: [1, 2\n");
  ASSERT_EQ(mistakes.size(), 1u);
  EXPECT_NE(mistakes[0].find("not YAML"), std::string::npos);
  EXPECT_EQ(syntax_of("a: b: c\n").size(), 1u);
  EXPECT_EQ(syntax_of("\ta: 1\n").size(), 1u);
}

TEST(yaml_reader, a_thousand_open_brackets_do_no_harm) {
  EXPECT_EQ(syntax_of(std::string(100'000, '[')).size(), 1u);
  EXPECT_EQ(syntax_of(std::string(100'000, '{')).size(), 1u);
}

TEST(yaml_reader, an_empty_file_is_null) {
  YamlMistakes mistakes;
  EXPECT_EQ(parse_yaml("# nothing\n", mistakes)->kind, YamlNode::Kind::null);
  EXPECT_TRUE(mistakes.empty());
}

TEST(yaml_reader, a_plain_scalar_others_would_read_differently_is_no_text) {
  for (std::string_view scalar : {"7", "1e3", "0x1f", "-1.5", "true", "no", "on", ".5"}) {
    EXPECT_EQ(mistakes_of("a: " + std::string(scalar),
                          [](YamlReader& file) { file.required("a").text(); })
                  .size(),
              1u)
        << scalar;
  }
  for (std::string_view scalar : {"r640", "7c9e", "10.0.0.11", "e5", "rack-7", "'7'", "u12"}) {
    EXPECT_EQ(mistakes_of("a: " + std::string(scalar),
                          [](YamlReader& file) { file.required("a").text(); }),
              Lines{})
        << scalar;
  }
}

TEST(yaml_reader, a_text_with_a_nul_character_would_be_another_path) {
  EXPECT_EQ(mistakes_of("a: \"/b\\0c\"", [](YamlReader& file) { file.required("a").text(); }),
            (Lines{R"(line 1: a: must not hold a NUL character, found "/b\u0000c")"}));
}

TEST(yaml_reader, a_missing_value_is_complained_about_once) {
  EXPECT_EQ(mistakes_of("a: {}\n",
                        [](YamlReader& file) {
                          YamlReader missing = file.required("a").required("b");
                          missing.required("c").text();
                          missing.elements(3);
                          missing.no_other_keys();
                        }),
            (Lines{"line 1: a.b is required"}));
  EXPECT_EQ(mistakes_of("a:\n", [](YamlReader& file) { file.required("a").text(); }).size(), 1u);
}

TEST(yaml_reader, the_file_is_named_where_it_helps) {
  YamlMistakes mistakes;
  mistakes.add(3, "x is wrong");
  EXPECT_EQ(mistakes.sorted("/etc/i.yaml").list(), (Lines{"/etc/i.yaml: line 3: x is wrong"}));
}

}  // namespace
}  // namespace isthmus::infra
