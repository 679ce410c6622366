# The house rules as tests: include directions, budgets, banned words (tools/tidy), and the tests of those tests.
foreach(check IN ITEMS tidy tidy_test.py)
  if(EXISTS ${PROJECT_SOURCE_DIR}/tools/${check})
    add_test(NAME ${check} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/${check})
    set_tests_properties(${check} PROPERTIES LABELS tidy TIMEOUT 60)
  endif()
endforeach()
