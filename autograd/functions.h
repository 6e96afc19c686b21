#pragma once

// Every differentiable function.
#include "autograd/functions/attention.h"
#include "autograd/functions/elementwise.h"
#include "autograd/functions/network.h"
#include "autograd/functions/products.h"
#include "autograd/functions/reductions.h"
#include "autograd/functions/views.h"
