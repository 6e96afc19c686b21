#pragma once

// Everything is hidden unless it is marked (the libraries build with -fvisibility=hidden).
#if defined(_WIN32)
#define HEED_EXPORT
#else
#define HEED_EXPORT __attribute__((visibility("default")))
#endif
