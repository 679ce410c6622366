# Libraries of others, all from Debian 12 (tools/setup installs them). Rooms name them in LIBRARIES.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
# 1.81 exactly: Debian also ships 1.74, which has no usable Boost.JSON.
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(simdjson REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)

# Netfilter's own small libraries bring pkg-config files only.
foreach(library IN ITEMS mnl nftnl)
  find_library(ISTHMUS_LIB${library} ${library} REQUIRED)
  add_library(lib${library} INTERFACE)
  target_link_libraries(lib${library} INTERFACE ${ISTHMUS_LIB${library}})
endforeach()
find_path(ISTHMUS_LIBMNL_INCLUDE libmnl/libmnl.h REQUIRED)
find_path(ISTHMUS_LIBNFTNL_INCLUDE libnftnl/set.h REQUIRED)

# prometheus-cpp's own package file drags in its web server and push client; the registry is all we use.
find_library(ISTHMUS_PROMETHEUS_CORE prometheus-cpp-core REQUIRED)
find_path(ISTHMUS_PROMETHEUS_INCLUDE prometheus/registry.h REQUIRED)
add_library(prometheus INTERFACE)
target_link_libraries(prometheus INTERFACE ${ISTHMUS_PROMETHEUS_CORE})

# Debian's own Python, which has the packages tools/setup installed, before one that a user brought.
if(EXISTS /usr/bin/python3 AND NOT Python3_EXECUTABLE)
  set(Python3_EXECUTABLE /usr/bin/python3)
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
