// The document of the infrastructure API: openapi.yaml beside this file, as the JSON text that is
// served at /openapi.json. The build makes the one of the other (cmake/embed_yaml.py).
#pragma once

#include <string_view>

namespace isthmus::infra::api {

// The whole OpenAPI 3.1 document; it lives as long as the program.
std::string_view openapi_json();

}  // namespace isthmus::infra::api
