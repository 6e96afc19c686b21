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

# heed_test_vector_widths(name...): the programs of heed_add_test once more, each as one test of ctest
# a level of vector instructions that this machine may lack (tests/support/vector_width.cpp). Where a
# device runs the kernels there is nothing to lower, nor where the CPU is no x86.
function(heed_test_vector_widths)
  if(HEED_DEVICE OR HEED_CUDA OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    return()
  endif()
  foreach(name ${ARGN})
    target_sources(heed_${name}_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/vector_width.cpp)
    target_link_libraries(heed_${name}_tests PRIVATE PkgConfig::hwy)
    foreach(level AVX2 SSE4 SCALAR)
      add_test(NAME ${name}.With${level}Alone COMMAND heed_${name}_tests --gtest_brief=1)
      set_tests_properties(${name}.With${level}Alone PROPERTIES
        LABELS ${name} TIMEOUT 300 ENVIRONMENT HEED_TEST_VECTORS=${level})
    endforeach()
  endforeach()
endfunction()
