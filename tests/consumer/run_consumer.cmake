# One step; its output is shown only when it fails.
function(run step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(NOTICE "${output}")
    message(FATAL_ERROR "${step} failed (${result})")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(prefix ${SCRATCH}/prefix)
set(build ${SCRATCH}/build)
file(REMOVE_RECURSE ${SCRATCH})

set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()

run("install" ${CMAKE_COMMAND} --install ${BUILD_DIR} --config ${CONFIG} --prefix ${prefix})
run("configure" ${CMAKE_COMMAND} -S ${SOURCE} -B ${build} -G ${GENERATOR}
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_CXX_FLAGS=${flags}
    -D CMAKE_PREFIX_PATH=${prefix})
run("build" ${CMAKE_COMMAND} --build ${build})
run("consumer" ${build}/consumer)
message(STATUS "${output}")

foreach(program ${prefix}/bin/heed ${build}/rooms)
  run("${program} --version" ${program} --version)
  if(NOT output MATCHES "^heed ${VERSION}\n")
    message(FATAL_ERROR "${program} is not heed ${VERSION}: ${output}")
  endif()
endforeach()
