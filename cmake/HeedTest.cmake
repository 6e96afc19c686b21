# heed_add_test(name SOURCES ... [ROOM room] [LIBS libs...] [DEFINITIONS NAME=value...]): the test
# program of a room (the one of that name unless said otherwise), heed_<name>_tests; every TEST in it
# is a test of ctest, labelled with the name.
include(GoogleTest)
find_package(GTest REQUIRED)

function(heed_add_test name)
  cmake_parse_arguments(TEST "" "ROOM" "SOURCES;LIBS;DEFINITIONS" ${ARGN})
  if(NOT TEST_ROOM)
    set(TEST_ROOM ${name})
  endif()
  set(program heed_${name}_tests)
  add_executable(${program} ${TEST_SOURCES})
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_compile_definitions(${program} PRIVATE ${TEST_DEFINITIONS})
  if((HEED_DEVICE OR HEED_CUDA) AND NOT TEST_ROOM MATCHES "^(core|data)$")
    target_sources(${program} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/test_device.cpp)
  endif()
  target_link_libraries(${program} PRIVATE heed::${TEST_ROOM} ${TEST_LIBS} heed_flags
                        GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${program} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
                       PROPERTIES LABELS ${name} TIMEOUT 300)
endfunction()
