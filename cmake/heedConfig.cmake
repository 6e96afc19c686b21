# find_package(heed) gives heed::core, heed::kernels, heed::autograd, heed::nn, heed::data and
# heed::train, one target a room; each brings along what it stands on.
include(${CMAKE_CURRENT_LIST_DIR}/HeedDependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/HeedCudaDependencies.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/heedTargets.cmake)
