# What a build with HEED_CUDA links besides. Also used by the package that such a build installs.
find_package(CUDAToolkit 12.2 REQUIRED)
