#include "train/program.h"

int main(int argc, char** argv) { return heed::train::run_program(argc, argv); }
