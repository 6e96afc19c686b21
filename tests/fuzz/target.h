#pragma once

#include <string>
#include <string_view>
#include <vector>

// A fuzz target: a reader of foreign bytes, and what must hold whatever they are. Each file here
// but the drivers defines the three. Under libFuzzer (libfuzzer.cpp) coverage guides the inputs; in
// every other build (driver.cpp) the same functions run on the seeds and on a fixed number of
// random changes of them.
namespace heed::fuzz {

// Reads one input. Refusing it by an InputError is the reader's right, and is caught in here;
// whatever else comes out of it is a finding.
void read(std::string_view input);

// Inputs to start from: small, and most of them valid.
std::vector<std::string> seeds();

// Words of the format, to be put into inputs.
std::vector<std::string> words();

// Ends the process, saying where, when a property does not hold.
void demand(bool holds, const char* property);

}  // namespace heed::fuzz
