#!/usr/bin/env python3
"""Each check of tools/tidy on a small tree: what it must find, and what it must leave alone."""

import importlib.machinery
import importlib.util
import os
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def load_tidy():
    loader = importlib.machinery.SourceFileLoader("tidy", os.path.join(HERE, "tidy"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


tidy = load_tidy()


def found(check, tree):
    return [str(problem) for problem in check(tree)]


class TidyTest(unittest.TestCase):
    def finds(self, check, tree, *expected):
        """The problems begin, in any order, with exactly these words."""
        problems = sorted(found(check, tree))
        self.assertEqual(len(problems), len(expected), problems)
        for problem, words in zip(problems, sorted(expected)):
            self.assertTrue(problem.startswith(words), problem)

    def test_a_room_includes_only_the_rooms_below_it(self):
        self.finds(tidy.check_rooms, {
            "isthmus/net/http.cc": '#include "isthmus/base/result.h"\n#include "isthmus/net/http.h"\n',
            "isthmus/base/log.cc": '#include "isthmus/net/http.h"\n',
            "isthmus/controllers/node.cc": '#include "isthmus/kube/api/node.h"\n#include "isthmus/net/http.h"\n',
            "isthmus/cloud/model.h": '\n#include "isthmus/kube/store.h"\n',
            "isthmus/kube/client.cc": '#include "isthmus/cloud/model.h"\n',
            "isthmus/kube/api/node.cc": '#include "isthmus/kube/store.h"\n',
        }, "isthmus/base/log.cc:1: base must not include isthmus/net/http.h",
           "isthmus/controllers/node.cc:2: controllers must not include isthmus/net/http.h",
           "isthmus/cloud/model.h:2: cloud must not include isthmus/kube/store.h",
           "isthmus/kube/client.cc:1: kube must not include isthmus/cloud/model.h",
           "isthmus/kube/api/node.cc:1: kube/api must not include isthmus/kube/store.h")

    def test_only_the_infra_provider_knows_the_backend_api(self):
        self.finds(tidy.check_rooms, {
            "isthmus/providers/infra/client.cc": '#include "isthmus/infra/api/instance.h"\n',
            "isthmus/providers/fake/provider.cc": '#include "isthmus/infra/api/instance.h"\n',
            "isthmus/providers/make.cc": '#include "isthmus/providers/fake/provider.h"\n',
            "isthmus/providers/fake/other.cc": '#include "isthmus/providers/infra/client.h"\n',
        }, "isthmus/providers/fake/provider.cc:1: providers/fake must not include isthmus/infra/api/",
           "isthmus/providers/fake/other.cc:1: providers/fake must not include isthmus/providers/infra/")

    def test_tests_may_include_any_room(self):
        self.finds(tidy.check_rooms, {"isthmus/cloud/guard_test.cc": '#include "isthmus/providers/fake/provider.h"\n'})

    def test_includes_are_written_in_full_and_every_file_has_a_room(self):
        self.finds(tidy.check_rooms, {
            "isthmus/net/http.cc": '#include "http.h"\n',
            "isthmus/attic/old.cc": "\n",
        }, 'isthmus/net/http.cc:1: include "http.h" by its full name', "isthmus/attic/old.cc:1: belongs to no room")

    def test_libraries_stay_in_the_files_that_know_them(self):
        self.finds(tidy.check_libraries, {
            "isthmus/net/http_server.cc": "#include <boost/beast.hpp>\n#include <vector>\n",
            "isthmus/net/beast_impl.h": "#include <boost/beast/http.hpp>\n",
            "isthmus/net/http.h": "#include <curl/curl.h>\n",
            "isthmus/kube/client.cc": "#include <boost/json.hpp>\n#include <fmt/format.h>\n",
            "isthmus/base/json.h": "#include <boost/json/fwd.hpp>\n",
            "isthmus/base/log.cc": "#include <spdlog/spdlog.h>\n#include <unistd.h>\n",
            "isthmus/base/loop.cc": "#include <uv.h>\n",
            "isthmus/base/loop_test.cc": "#include <gtest/gtest.h>\n",
        }, "isthmus/net/http.h:1: <curl/curl.h> does not belong here",
           "isthmus/kube/client.cc:1: <boost/json.hpp> does not belong here: use isthmus/base/json.h",
           "isthmus/base/loop.cc:1: <uv.h> is of no library we use")

    def test_banned_words_come_with_their_replacement(self):
        samples = {
            "auto t = std::chrono::steady_clock::now();": "'steady_clock' does not belong here: take a Clock&",
            "auto t = std::time(nullptr);": "'std::time' does not belong here: take a Clock&",
            "std::random_device entropy;": "'random_device' does not belong here: take a Random&",
            "std::thread worker(work);": "'std::thread' does not belong here: one thread",
            "std::this_thread::sleep_for(1s);": "'this_thread::sleep_for' does not belong here: await the clock",
            "#include <sys/socket.h>": "'#include <sys/socket.h>' does not belong here: sockets live in net",
            "std::ifstream file(path);": "'std::ifstream' does not belong here: take a Files&",
            'auto home = getenv("HOME");': "'getenv' does not belong here: only main reads",
            "std::cout << 1;": "'std::cout' does not belong here: use isthmus/base/log.h",
            "assert(ready);": "'assert' does not belong here: use ISTHMUS_ASSERT",
            "throw Error();": "'throw' does not belong here: return an Error",
            "std::shared_ptr<Node> node;": "'std::shared_ptr<' does not belong here: share only const",
            "auto text = std::format(pattern);": "'std::format' does not belong here: libstdc++ 12",
        }
        for code, expected in samples.items():
            with self.subTest(code):
                problems = found(tidy.check_banned_words, {"isthmus/kube/client.cc": f"\n{code}\n"})
                self.assertTrue(any(p.startswith(f"isthmus/kube/client.cc:2: {expected}") for p in problems), problems)

    def test_every_banned_word_has_a_sample_above(self):
        with open(__file__, encoding="utf-8") as file:
            text = file.read()
        for _, instead, _ in tidy.BANNED:
            self.assertIn(instead.split()[0], text)

    def test_comments_strings_and_the_real_world_may_use_any_word(self):
        self.finds(tidy.check_banned_words, {
            "isthmus/kube/client.cc": '// a steady_clock\n/* std::thread\n */ auto s = "std::thread";\n'
                                      "int n = 1'000;\n",
            "isthmus/net/world_posix.cc": "auto t = std::chrono::steady_clock::now();\n",
            "isthmus/app/main.cc": 'auto home = getenv("HOME");\n',
            "isthmus/kube/store.h": "std::shared_ptr<const Node> node;\nISTHMUS_ASSERT(ready);\nstatic_assert(true);\n",
        })

    def test_awaiting_is_a_statement_of_its_own(self):
        for code in ["if (co_await f()) g();", "g(co_await f());", "if (auto x = co_await f(); x) g();",
                     "while (auto m = co_await c.receive()) g();", "auto x = a ? co_await f() : co_await g();",
                     "EXPECT_TRUE(co_await f());", "auto x = 1 + co_await f();", "auto x = (co_await f()).value();",
                     "co_return g(CO_TRY(co_await f()));"]:
            with self.subTest(code):
                problems = found(tidy.check_await_alone, {"isthmus/kube/a.cc": f"void h() {{\n  {code}\n}}\n"})
                self.assertTrue(problems and "await alone" in problems[0], problems)
        for code in ["co_await f();", "auto x = co_await f();", "auto x = CO_TRY(co_await f(g(1)));",
                     "CO_TRY(co_await f());", "Awaiter operator co_await() && noexcept;",
                     "if (a) co_await f();", "if (a) {\n co_await f();\n} else co_await g();",
                     "co_return co_await f();",
                     "for (auto& a : all) co_await f(a);", "case 1:\n co_await f();", "// if (co_await f())",
                     "x_ = co_await f();"]:
            with self.subTest(code):
                self.finds(tidy.check_await_alone, {"isthmus/kube/a.cc": f"void h() {{\n  {code}\n}}\n"})

    def test_lines_stay_within_their_budget(self):
        self.finds(tidy.check_line_length, {
            "isthmus/base/a.cc": "x" * 100 + "\n" + "x" * 101 + "\n",
            "isthmus/base/b.cc": "// https://example.com/" + "x" * 100 + "\n",
            "tools/a": "#!/bin/sh\n" + "x" * 121 + "\n",
            "README.md": "x" * 200 + "\n",
        }, "isthmus/base/a.cc:2: 101 columns; the budget is 100", "tools/a:2: 121 columns; the budget is 120")

    def test_files_stay_within_their_budget(self):
        self.finds(tidy.check_file_length, {
            "isthmus/base/a.h": "\n" * 251,
            "isthmus/base/b.h": "\n" * 250,
            "isthmus/base/a.cc": "\n" * 501,
            "docs/long.md": "\n" * 1000,
        }, "isthmus/base/a.h:251: 251 lines; the budget of a header is 250",
           "isthmus/base/a.cc:501: 501 lines; the budget of a source is 500")

    def test_functions_stay_within_their_budget(self):
        body = "  work();\n"
        self.finds(tidy.check_function_length, {
            "isthmus/base/a.cc": "namespace isthmus {\nint fits(int a) {\n" + body * 68 + "}\n"
                                 "\nint Type::too_long(\n    int a) {\n" + body * 68 + "}\n}  // namespace isthmus\n",
            "isthmus/base/b.h": "class Big {\n public:\n" + "  int small() { return 1; }\n" * 80 + "};\n",
            "isthmus/base/c.cc": "const char* kTable[] = {\n" + '    "{",\n' * 90 + "};\n",
            "isthmus/base/d_test.cc": "TEST(a, tells_a_long_story) {\n  auto f = [] {\n" + body * 70 + "  };\n}\n",
            "tests/a.go": "package a\n\nfunc long() {\n" + "\twork()\n" * 69 + "}\n",
            "tools/a.py": "def long():\n" + "    work()\n" * 70,
        }, "isthmus/base/a.cc:73: a function of 71 lines",
           "isthmus/base/d_test.cc:1: a function of 74 lines",
           "tests/a.go:3: a function of 71 lines",
           "tools/a.py:1: a function of 71 lines")

    def test_unfinished_work_and_workplaces_are_not_left_behind(self):
        self.finds(tidy.check_leftovers, {
            "isthmus/base/a.cc": "// TO" "DO: later\n// a FIX" "ME\n",
            "docs/a.md": "see /ho" "me/someone/src\n",
            "tools/a": "cd /ro" "ot/x\ncd ${HOME}/Users/x\n",
        }, "isthmus/base/a.cc:1: 'TO" "DO': do it", "isthmus/base/a.cc:2: 'FIX" "ME': do it",
           "docs/a.md:1: '/ho" "me/someone/' exists on one machine only", "tools/a:1: '/ro" "ot/' exists on one")

    def test_a_module_is_three_files(self):
        self.finds(tidy.check_companions, {
            "isthmus/base/whole.h": "",
            "isthmus/base/whole.cc": '#include "isthmus/base/whole.h"\n',
            "isthmus/base/whole_test.cc": "",
            "isthmus/base/split.h": "",
            "isthmus/base/split.cc": '#include "isthmus/base/split.h"\n',
            "isthmus/base/split_one_test.cc": "",
            "isthmus/base/large.h": "",
            "isthmus/base/large_impl.h": "",
            "isthmus/base/large_part.cc": '#include "isthmus/base/large_impl.h"\n',
            "isthmus/base/large_test.cc": "",
            "isthmus/base/private_impl.h": "",
            "isthmus/base/private_impl.cc": '#include "isthmus/base/private_impl.h"\n',
            "isthmus/base/headless.cc": "",
            "isthmus/base/headless_test.cc": "",
            "isthmus/base/late.h": "",
            "isthmus/base/late.cc": '#include <vector>\n#include "isthmus/base/late.h"\n',
            "isthmus/base/late_test.cc": "",
            "isthmus/base/untested.h": "",
            "isthmus/base/untested.cc": '#include "isthmus/base/untested.h"\n',
            "isthmus/app/main.cc": "",
        }, "isthmus/base/headless.cc:1: has no header", "isthmus/base/late.cc:1: includes its own header first",
           "isthmus/base/untested.cc:1: has no test beside it")

    def test_documents_that_are_named_exist(self):
        self.finds(tidy.check_references, {
            "README.md": "[a](docs/start.md) and https://example.com/other.md\n`base/a.h` and `base/b.cc`\n",
            "docs/start.md": "see ../README.md, guides/one.md and guides/two.md\n",
            "docs/guides/one.md": "",
            "isthmus/base/a.h": "// as start.md says, and spec/rules.md\n",
        }, "README.md:2: names base/b.cc, which", "docs/start.md:1: names guides/two.md, which",
            "isthmus/base/a.h:1: names spec/rules.md, which")

    def test_every_defect_of_upstream_has_a_line_and_its_tests_exist(self):
        names = [f"D-{letter}{i}" for letter, count in tidy.DEFECTS.items() for i in range(1, count + 1)]
        self.assertEqual(len(names), 75)
        tree = {"isthmus/a_test.cc": "TEST(a, is_right)"}
        lines = [f"| {name} | upstream | ours | `isthmus/a_test.cc: is_right` |" for name in names]
        self.finds(tidy.check_defects, {**tree, tidy.DEFECTS_PAGE: "\n".join(lines)})
        lines[1] = "| D-B2 | upstream | ours | `isthmus/a_test.cc: is` |"
        lines[2] = "| D-B3 | upstream | ours | by hand |"
        lines[3] = lines[4]
        self.finds(tidy.check_defects, {**tree, tidy.DEFECTS_PAGE: "\n".join(lines)},
                   f"{tidy.DEFECTS_PAGE}:2: D-B2 names a test is, which is not in isthmus/a_test.cc",
                   f"{tidy.DEFECTS_PAGE}:3: D-B3 names no test",
                   f"{tidy.DEFECTS_PAGE}:1: D-B4 has 0 lines",
                   f"{tidy.DEFECTS_PAGE}:1: D-B5 has 2 lines")

    def test_an_exception_ends_with_its_file(self):
        everything = dict.fromkeys([*tidy.BUDGET_EXCEPTIONS, *tidy.UNTESTED], "")
        self.finds(tidy.check_exceptions, everything)
        removed = next(iter(everything))
        del everything[removed]
        self.finds(tidy.check_exceptions, everything, f"tools/tidy:1: grants {removed} an exception")

    def test_every_exception_says_why(self):
        reasons = [reason for grants in tidy.BUDGET_EXCEPTIONS.values() for _, _, reason in grants]
        for reason in reasons + list(tidy.UNTESTED.values()):
            self.assertGreater(len(reason.split()), 3)

    def test_literals_and_comments_are_blanked_without_moving_lines(self):
        text = 'a("// no comment");\n/* x\ny */ b();\nauto c = \'"\'; d(R"(raw "{)");\n'
        code = tidy.code_only(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertEqual(code.split(), ["a(", ");", "b();", "auto", "c", "=", ";", "d(", ");"])

    def test_every_check_is_run(self):
        named = {value for name, value in vars(tidy).items() if name.startswith("check_")}
        self.assertEqual(named, set(tidy.CHECKS))


if __name__ == "__main__":
    unittest.main()
