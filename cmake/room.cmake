# isthmus_room(NAME [WITHOUT folder…] [GENERATED file…] [DEPENDS room…] [LIBRARIES library…] [TEST_DEPENDS room…])
#
# Makes of the folder it is called in
#   isthmus_NAME  a static library of its *.cc files (subfolders included, but not those named in WITHOUT),
#   NAME_test     one GoogleTest program of its *_test.cc files, registered test by test with ctest.
# A file whose name is main.cc belongs to neither; GENERATED sources are made by the build. DEPENDS are the rooms it
# may include, LIBRARIES what it links of others; TEST_DEPENDS are further rooms that only its tests use. A room
# without sources yet is an empty library without tests, so that other rooms may already name it.
function(isthmus_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "" "WITHOUT;GENERATED;DEPENDS;LIBRARIES;TEST_DEPENDS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(folder IN LISTS room_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  list(APPEND sources ${room_GENERATED})

  list(TRANSFORM room_DEPENDS PREPEND isthmus_)
  list(TRANSFORM room_TEST_DEPENDS PREPEND isthmus_)
  if(sources)
    add_library(isthmus_${name} STATIC ${sources})
    target_link_libraries(isthmus_${name} PUBLIC ${room_DEPENDS} PRIVATE ${room_LIBRARIES} isthmus_flags)
  else()
    add_library(isthmus_${name} INTERFACE)
    target_link_libraries(isthmus_${name} INTERFACE ${room_DEPENDS})
  endif()

  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE
      isthmus_${name} ${room_TEST_DEPENDS} ${room_LIBRARIES} isthmus_flags GTest::gtest GTest::gmock GTest::gtest_main
      rapidcheck)
    # Discovery runs at test time: building never executes what it has just built.
    gtest_discover_tests(${name}_test NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      TEST_PREFIX "${name}: " PROPERTIES TIMEOUT 60 LABELS unit)
  endif()
endfunction()
