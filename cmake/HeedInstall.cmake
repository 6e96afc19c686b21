include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY HEED_ROOMS)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heed)

foreach(room IN LISTS rooms)
  install(TARGETS heed_${room} EXPORT heedTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heed FILES_MATCHING PATTERN "*.h"
          # What is private to a room:
          PATTERN "blas_layout.h" EXCLUDE
          PATTERN "cases.h" EXCLUDE
          PATTERN "commands" EXCLUDE
          PATTERN "cpu" EXCLUDE
          PATTERN "cuda" EXCLUDE
          PATTERN "cuda_device.h" EXCLUDE
          PATTERN "loop.h" EXCLUDE
          PATTERN "node.h" EXCLUDE
          PATTERN "support.h" EXCLUDE)
endforeach()
install(TARGETS heed RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT heedTargets NAMESPACE heed:: DESTINATION ${package_dir})

write_basic_package_version_file(${PROJECT_BINARY_DIR}/heedConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heedConfigVersion.cmake
        ${PROJECT_SOURCE_DIR}/cmake/heedConfig.cmake
        ${PROJECT_SOURCE_DIR}/cmake/HeedDependencies.cmake DESTINATION ${package_dir})
if(HEED_CUDA)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/HeedCudaDependencies.cmake DESTINATION ${package_dir})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/heed
        FILES_MATCHING PATTERN "*.toml" PATTERN "*.cpp")
