"""Makes a C++ source that holds a YAML document as JSON text: embed_yaml.py YAML HEADER NAMESPACE FUNCTION OUTPUT"""

import json
import sys

import yaml

source, header, namespace, function, output = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    # No compiler must take a literal above 64 KiB, so no space is spent on looks.
    text = json.dumps(yaml.safe_load(file), ensure_ascii=False, separators=(",", ":"))
with open(output, "w", encoding="utf-8") as file:
    file.write(f'#include "{header}"\n\n'
               f"namespace {namespace} {{\n"
               f'std::string_view {function}() {{ return R"document({text})document"; }}\n'
               f"}}  // namespace {namespace}\n")
