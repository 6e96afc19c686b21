# The CUDA toolkit, and how .cu files are compiled.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  # Code for these, and PTX of the newest for cards to come.
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
endif()
# What the program says of itself, and holds a card against: "75 80 90".
list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "-(real|virtual)$" "" OUTPUT_VARIABLE architectures)
list(JOIN architectures " " HEED_CUDA_ARCHITECTURES)
if(NOT HEED_CUDA_ARCHITECTURES MATCHES "^[0-9 ]+$")
  message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES}: numbers are expected, "
                      "as in 80;90")
endif()

set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
enable_language(CUDA)
# CMake 3.25 does not know that nvcc has C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/HeedCudaDependencies.cmake)
set(HEED_CUDA_OPTIONS --extended-lambda --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Wshadow)
if(HEED_WERROR)
  list(APPEND HEED_CUDA_OPTIONS -Werror=all-warnings)
endif()
