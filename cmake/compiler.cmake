# The one compiler we trust, and its flags.

# g++ 12 miscompiles ordinary coroutine code, so anything but a recent clang is refused before it can.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR
    "Isthmus needs clang 19 or newer, and found ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} "
    "(${CMAKE_CXX_COMPILER}): run `make setup`, then configure with `cmake --preset dev`.")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)

option(ISTHMUS_WERROR "Every warning is an error (on in CI)" OFF)

# `isthmus_flags` carries what all our own code is compiled with; libraries of others never see it.
add_library(isthmus_flags INTERFACE)
target_compile_options(isthmus_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  -Werror=return-type -Werror=unused-result
  # TRY is a statement expression on purpose: it is the only way to return early out of an initialiser.
  -Wno-gnu-statement-expression-from-macro-expansion
  # Designated initialisers are our named arguments: what is not named keeps its default, on purpose.
  -Wno-missing-designated-field-initializers
  -ffunction-sections -fdata-sections)
if(ISTHMUS_WERROR)
  target_compile_options(isthmus_flags INTERFACE -Werror)
endif()
target_include_directories(isthmus_flags INTERFACE ${PROJECT_SOURCE_DIR})

# A fresh clone in another directory must hit the cache: paths are made relative for ccache and for the debug
# information alike. There are no precompiled headers, because with them it would never hit.
add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
find_program(ISTHMUS_CCACHE ccache)
if(ISTHMUS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${ISTHMUS_CCACHE})
endif()
