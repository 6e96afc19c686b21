#pragma once

namespace heed::data {

enum class Split { train, validation, test };

}  // namespace heed::data
