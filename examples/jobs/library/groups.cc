// The step of a library entrypoint, in C++: each rank says with whom it shares
// the groups of the mesh. No exception may leave the function.
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include <jobrun/rank.h>

static std::string members(const jr_rank_place &axis)
{
    std::ostringstream text;
    for (uint32_t i = 0; i < axis.size; i++)
        text << (i == 0 ? "[" : ", ") << axis.first + i * axis.stride;
    return text.str() + "]";
}

extern "C" int step_main(const jr_rank *rank, jr_result *result)
try {
    std::ostringstream text;
    text << "{\"model\": " << members(rank->axes[JR_RANK_MODEL])
         << ", \"pipeline\": " << members(rank->axes[JR_RANK_PIPELINE])
         << ", \"data\": " << members(rank->axes[JR_RANK_DATA]) << "}";
    const std::string json = text.str();
    return jr_result_set_json(result, json.data(), json.size());
} catch (const std::exception &error) {
    std::cerr << "step_main: " << error.what() << '\n';
    return 1;
}
