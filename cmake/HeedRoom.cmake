# heed_add_room(name SOURCES ... [PUBLIC libs...] [PRIVATE libs...]): the library target of one room.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
find_program(HEED_CCACHE ccache)
mark_as_advanced(HEED_CCACHE)
if(HEED_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEED_CCACHE})
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

# Flags of the build itself; an installed heed asks nothing of its users but C++20.
add_library(heed_warnings INTERFACE)
target_compile_options(heed_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;$<$<BOOL:${HEED_WERROR}>:-Werror>>")
add_library(heed_flags INTERFACE)
target_link_libraries(heed_flags INTERFACE heed_warnings)
# Nobody reads errno after a function of <cmath>; with it, loops that take roots are not vectorised.
target_compile_options(heed_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno>)
if(HEED_SANITIZE)
  # What the sanitizers add to the standard library's code looks uninitialized to GCC.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(heed_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_compile_options(heed_flags INTERFACE -fsanitize=${HEED_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(heed_flags INTERFACE -fsanitize=${HEED_SANITIZE})
endif()

function(heed_add_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(heed_${name} ${ROOM_SOURCES})
  add_library(heed::${name} ALIAS heed_${name})
  set_target_properties(heed_${name} PROPERTIES EXPORT_NAME ${name} VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR})
  target_compile_features(heed_${name} PUBLIC cxx_std_20)
  target_include_directories(heed_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/heed>)
  set(flags heed_flags)
  if(HEED_BUILD_FUZZERS AND name MATCHES "^(kernels|autograd|nn)$")
    set(flags heed_warnings)  # they read nothing foreign, and to instrument them takes minutes
  endif()
  target_link_libraries(heed_${name} PUBLIC ${ROOM_PUBLIC} PRIVATE ${ROOM_PRIVATE}
                        $<BUILD_INTERFACE:${flags}>)
  set_property(GLOBAL APPEND PROPERTY HEED_ROOMS ${name})
endfunction()
