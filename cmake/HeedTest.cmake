# heed_add_test(room SOURCES ... [LIBS libs...] [DEFINITIONS NAME=value...]): the test program of one
# room, heed_<room>_tests; every TEST in it is a test of ctest, labelled with the room.
include(GoogleTest)
find_package(GTest REQUIRED)

function(heed_add_test room)
  cmake_parse_arguments(TEST "" "" "SOURCES;LIBS;DEFINITIONS" ${ARGN})
  set(program heed_${room}_tests)
  add_executable(${program} ${TEST_SOURCES})
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_compile_definitions(${program} PRIVATE ${TEST_DEFINITIONS})
  target_link_libraries(${program} PRIVATE heed::${room} ${TEST_LIBS} heed_flags
                        GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${program} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${room} TIMEOUT 300)
endfunction()
