// The pages of docs/reference that are made of the program's own tables.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "isthmus/app/commands.h"
#include "isthmus/app/conformance_report.h"
#include "isthmus/app/event_reference.h"
#include "isthmus/app/flag_reference.h"
#include "isthmus/app/lifecycle.h"
#include "isthmus/app/metric_reference.h"
#include "isthmus/base/text.h"
#include "isthmus/controllers/service_annotations.h"

namespace isthmus::app {
namespace {

struct Page {
  std::string_view name;
  std::string_view purpose;
  std::string (*text)();
};

constexpr std::array kPages{
    Page{"annotations", "what a Service may ask for", controllers::annotation_reference},
    Page{"conformance", "what a cloud is tested for", conformance_reference},
    Page{"events", "what people are told by Events", event_reference},
    Page{"flags", "what each subcommand can be told", flag_reference},
    Page{"metrics", "what is served at /metrics", metric_reference},
};

std::string usage() {
  std::string text =
      "Usage:\n  isthmus reference PAGE\n\nPrints a reference page, Markdown.\n\n"
      "Pages:\n";
  for (const Page& page : kPages) text += fmt::format("  {:<14}{}\n", page.name, page.purpose);
  return text;
}

}  // namespace

int reference_command(const std::vector<std::string>& arguments, const Environment&) {
  const std::string_view asked = arguments.size() == 1 ? arguments.front() : std::string_view();
  if (asked == "--help" || asked == "-h") {
    fmt::print("{}", usage());
    return kExitDone;
  }
  for (const Page& page : kPages) {
    if (page.name != asked) continue;
    fmt::print("{}", page.text());
    return kExitDone;
  }
  fmt::print(stderr, "isthmus reference: {}\n\n{}",
             arguments.size() == 1 ? fmt::format("there is no page {}", quoted(asked))
                                   : "expected the name of one page",
             usage());
  return kExitMistaken;
}

}  // namespace isthmus::app
