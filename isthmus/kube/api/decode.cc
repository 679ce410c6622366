#include "isthmus/kube/api/decode.h"

#include <fmt/format.h>

#include <type_traits>

#include "isthmus/base/text.h"
#include "isthmus/kube/api/decode_impl.h"

namespace isthmus::kube {

namespace {

namespace ondemand = decoding::ondemand;
using decoding::Reader;

// A parser keeps five bytes per byte of the longest text it has seen; beyond this it is let go.
constexpr std::size_t kKeptTextBytesMax = std::size_t{1} << 20;

constexpr std::size_t kExcerptBytesMax = 80;

std::unexpected<Error> lost(const Reader& reader, std::string_view expected,
                            std::string_view text) {
  return fail(Outcome::lost,
              fmt::format("{} expected: {}; the answer begins {}", expected, reader.why_broken(),
                          isthmus::quoted(shortened(trimmed(text), kExcerptBytesMax))));
}

// apiVersion and kind, as they stand in an object or a list.
struct TypeMeta {
  std::string api_version;
  std::string kind;

  // True when the field was one of the two.
  bool read(Reader& reader, std::string_view key, ondemand::value value) {
    if (key != "apiVersion" && key != "kind") return false;
    reader.text(value, key == "kind" ? kind : api_version);
    return true;
  }
};

// The elements of a list are not labelled with their type, single objects are.
enum class Labelled : std::uint8_t { optional, required };

void check_type(Reader& reader, const TypeMeta& found, std::string_view api_version,
                std::string_view kind, Labelled labelled) {
  if (labelled == Labelled::optional && found.kind.empty() && found.api_version.empty()) return;
  if (found.kind == kind && found.api_version == api_version) return;
  reader.break_off(fmt::format("it is of kind \"{}\" in \"{}\"", found.kind, found.api_version));
}

// Reads one object. Breaks off where not even the key can be read.
template <class T, class Source>
void read_item(Reader& reader, Source& source, Labelled labelled, Decoded<T>& out) {
  T object;
  TypeMeta type;
  reader.begin_object();
  reader.fields(source, [&](std::string_view key, ondemand::value each) {
    if (!type.read(reader, key, each)) read_field(reader, key, each, object);
  });
  if (reader.broken()) return;
  check_type(reader, type, T::resource.api_version, T::resource.kind, labelled);

  const ObjectMeta& meta = object.meta;
  const bool named =
      !meta.key.name.empty() && meta.key.name_space.empty() != T::resource.namespaced;
  if (!named) {
    reader.break_off(
        fmt::format("an object without a readable name ({})", reader.why_unreadable()));
    return;
  }
  if (meta.uid.empty()) reader.mark_unreadable("metadata.uid: missing");
  if (meta.resource_version.empty()) reader.mark_unreadable("metadata.resourceVersion: missing");

  out.key = meta.key;
  out.uid = meta.uid;
  out.resource_version = meta.resource_version;
  if (reader.unreadable()) {
    out.object = fail(Outcome::lost, fmt::format("{} {} is unreadable: {}", T::resource.kind,
                                                 to_string(meta.key), reader.why_unreadable()));
  } else {
    out.object = std::move(object);
  }
}

template <class T>
void read_list_metadata(Reader& reader, ondemand::value value, ListPage<T>& page) {
  reader.fields(value, [&](std::string_view key, ondemand::value each) {
    if (key == "resourceVersion") return reader.text(each, page.resource_version);
    if (key == "continue") return reader.text(each, page.continue_token);
    if (key == "remainingItemCount") reader.number(each, page.remaining.emplace());
  });
}

template <class T>
void read_page(Reader& reader, ondemand::object& root, ListPage<T>& page) {
  TypeMeta type;
  bool has_items = false;
  reader.fields(root, [&](std::string_view key, ondemand::value value) {
    if (key == "items") {
      has_items = true;
      page.items.clear();
      reader.elements(value, [&](ondemand::value element) {
        read_item(reader, element, Labelled::optional, page.items.emplace_back());
        reader.begin_object();  // An unreadable item says nothing against the list.
      });
    } else if (key == "metadata") {
      read_list_metadata(reader, value, page);
    } else {
      type.read(reader, key, value);
    }
    if (reader.unreadable()) reader.break_off(reader.why_unreadable());
  });
  if (reader.broken()) return;
  check_type(reader, type, T::resource.api_version, fmt::format("{}List", T::resource.kind),
             Labelled::required);
  if (!has_items) reader.break_off("it has no items");
  if (page.resource_version.empty()) reader.break_off("it has no metadata.resourceVersion");
}

// A bookmark is an object of the watched type with nothing but a resource version and annotations.
void read_bookmark(Reader& reader, ondemand::value value, const ResourceType& resource,
                   Bookmark& bookmark) {
  constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";
  TypeMeta type;
  StringMap annotations;
  reader.begin_object();
  reader.fields(value, [&](std::string_view key, ondemand::value each) {
    if (type.read(reader, key, each) || key != "metadata") return;
    reader.fields(each, [&](std::string_view name, ondemand::value field) {
      if (name == "resourceVersion") return reader.text(field, bookmark.resource_version);
      if (name != "annotations") return;
      reader.map(field, annotations, [&](auto wanted) { return wanted == kInitialEventsEnd; });
    });
  });
  if (reader.unreadable()) reader.break_off(reader.why_unreadable());
  check_type(reader, type, resource.api_version, resource.kind, Labelled::required);
  if (bookmark.resource_version.empty()) reader.break_off("a bookmark without resourceVersion");
  bookmark.initial_events_end = annotations.find(kInitialEventsEnd) == "true";
}

template <class Source>
void read_status(Reader& reader, Source& source, Status& status) {
  TypeMeta type;
  reader.begin_object();
  reader.fields(source, [&](std::string_view key, ondemand::value each) {
    if (!type.read(reader, key, each)) read_field(reader, key, each, status);
  });
  if (reader.unreadable()) reader.break_off(reader.why_unreadable());
  check_type(reader, type, "v1", "Status", Labelled::required);
}

std::optional<ChangeKind> parse_change_kind(std::string_view type) {
  if (type == "ADDED") return ChangeKind::added;
  if (type == "MODIFIED") return ChangeKind::modified;
  if (type == "DELETED") return ChangeKind::deleted;
  return std::nullopt;
}

template <class T>
void read_watched(Reader& reader, std::string_view type, ondemand::value value,
                  WatchEvent<T>& out) {
  if (type == "BOOKMARK") {
    return read_bookmark(reader, value, T::resource, out.template emplace<Bookmark>());
  }
  if (type == "ERROR") return read_status(reader, value, out.template emplace<Status>());
  Change<T>& change = out.template emplace<Change<T>>();
  const std::optional<ChangeKind> kind = parse_change_kind(type);
  if (!kind) return reader.break_off(fmt::format("an event of type {}", isthmus::quoted(type)));
  change.kind = *kind;
  read_item(reader, value, Labelled::required, change.item);
}

// The two fields of a line may come in either order, and the object cannot be read before its type
// is known; `type` is what an earlier round over the same line has found. True when it is read.
template <class T>
bool read_line(Reader& reader, ondemand::object& root, std::string& type, WatchEvent<T>& out) {
  bool done = false;
  std::string found_type;
  int objects = 0;
  int types = 0;
  reader.fields(root, [&](std::string_view key, ondemand::value value) {
    if (key == "type") {
      ++types;
      reader.text(value, found_type);
      if (reader.unreadable()) return reader.break_off(reader.why_unreadable());
      if (found_type.empty()) return reader.break_off("an event without a type");
      if (type.empty()) type = found_type;
    } else if (key == "object") {
      ++objects;
      if (type.empty()) return;
      read_watched(reader, type, value, out);
      done = true;
    }
  });
  if (types != 1 || objects != 1) reader.break_off("it has not one type and one object");
  return done;
}

// Whether the document was read to its last byte: reading that went astray anywhere did not end
// here.
void check_consumed(Reader& reader, ondemand::document& document) {
  const char* place = nullptr;
  if (document.current_location().get(place) != simdjson::OUT_OF_BOUNDS) {
    reader.break_off("not JSON: it goes on after its end, or ends before it");
  }
}

}  // namespace

struct Decoder::Parser {
  // Parses the text, which must be an object, and calls read(document, its fields).
  template <class Read>
  void parse(Reader& reader, std::string& text, Read&& read) {
    if (!parser) parser.emplace();
    text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    {
      ondemand::document document;
      ondemand::object root;
      if (!reader.sound(parser->iterate(text).get(document))) return;
      if (document.get_object().get(root)) return reader.break_off("not a JSON object");
      read(document, root);
      if (!reader.broken()) check_consumed(reader, document);
    }
    if (text.size() > kKeptTextBytesMax) parser.reset();
  }

  std::optional<ondemand::parser> parser;
};

bool Projection::all_but_last_applied(std::string_view key) {
  return key != "kubectl.kubernetes.io/last-applied-configuration";
}

Decoder::Decoder(Projection projection)
    : projection_(projection), parser_(std::make_unique<Parser>()) {}
Decoder::~Decoder() = default;

template <class T>
Result<T> Decoder::object(std::string& text) {
  Reader reader(projection_);
  Decoded<T> item;
  parser_->parse(reader, text, [&](ondemand::document&, ondemand::object& root) {
    read_item(reader, root, Labelled::required, item);
  });
  if (reader.broken()) return lost(reader, T::resource.kind, text);
  if constexpr (std::is_same_v<T, Lease>) {
    if (item.object) item.object->document = text;
  }
  return std::move(item.object);
}

template <class T>
Result<T> Decoder::object(std::string& text, const ObjectKey& asked_for) {
  T answer = TRY(object<T>(text));
  if (answer.meta.key == asked_for) return answer;
  return fail(Outcome::lost, fmt::format("{} {} expected: the answer is about {}", T::resource.kind,
                                         to_string(asked_for), to_string(answer.meta.key)));
}

template <class T>
Result<ListPage<T>> Decoder::page(std::string& text) {
  Reader reader(projection_);
  ListPage<T> page;
  parser_->parse(reader, text, [&](ondemand::document&, ondemand::object& root) {
    read_page(reader, root, page);
  });
  if (reader.broken()) return lost(reader, fmt::format("{}List", T::resource.kind), text);
  return page;
}

template <class T>
Result<WatchEvent<T>> Decoder::watch_line(std::string& text) {
  Reader reader(projection_);
  WatchEvent<T> event;
  parser_->parse(reader, text, [&](ondemand::document& document, ondemand::object& root) {
    std::string type;
    if (read_line(reader, root, type, event) || reader.broken()) return;
    document.rewind();
    if (!reader.sound(document.get_object().get(root))) return;
    read_line(reader, root, type, event);
  });
  if (reader.broken()) return lost(reader, fmt::format("{} watch event", T::resource.kind), text);
  return event;
}

Result<Status> Decoder::status(std::string& text) {
  Reader reader(projection_);
  Status status;
  parser_->parse(reader, text, [&](ondemand::document&, ondemand::object& root) {
    read_status(reader, root, status);
  });
  if (reader.broken()) return lost(reader, "Status", text);
  return status;
}

#define ISTHMUS_DECODES(T)                                               \
  template Result<T> Decoder::object<T>(std::string&);                   \
  template Result<T> Decoder::object<T>(std::string&, const ObjectKey&); \
  template Result<ListPage<T>> Decoder::page<T>(std::string&);           \
  template Result<WatchEvent<T>> Decoder::watch_line<T>(std::string&)

ISTHMUS_DECODES(Node);
ISTHMUS_DECODES(NodeMetadata);
ISTHMUS_DECODES(Service);
ISTHMUS_DECODES(Lease);
ISTHMUS_DECODES(Event);
ISTHMUS_DECODES(Namespace);
ISTHMUS_DECODES(ConfigMap);

}  // namespace isthmus::kube
