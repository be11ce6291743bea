/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of filter_guest.h: a guest in a tainting sandbox. BACKEND is the header of what isolates
 * it, and NAME the variant's. */

#include <algorithm>
#include <optional>

#include "filter_guest.h"
#include "sandbox.hpp"
#include BACKEND

extern "C" const char guest_name[] = NAME;

namespace {

/* Asked for at least: enough for every prefix and for most URIs. */
constexpr std::size_t ROOM = 8192;

using sandbox = tainting::sandbox<backend>;
using bytes = sandbox::value<unsigned char *>;

/* The room is kept from call to call: allocating anew would cost more than the rest. */
struct guest {
    sandbox box;
    std::size_t length = ROOM;
    bytes room = box.allocate<unsigned char>(ROOM);

    const bytes &hand_over(const void *from, std::size_t count)
    {
        if (count > length) {
            room = box.allocate<unsigned char>(count);
            length = count;
        }
        box.copy_in(room, static_cast<const unsigned char *>(from), count);
        return room;
    }
};

std::optional<guest> running;

/* Nothing thrown gets past here: those who call are C. */
template <typename Act> int guarded(guest_reason *why, Act act)
{
    try {
        return act();
    } catch (const tainting::error &error) {
        *why = error.why;
        return -1;
    }
}

} // namespace

int guest_load(guest_reason *)
{
    return 0; /* it is part of this library */
}

void guest_settle(int) {}

int guest_start(guest_reason *why)
{
    return guarded(why, [] {
        running.emplace();
        return 0;
    });
}

void guest_stop()
{
    running.reset();
}

int guest_set_prefix(const void *prefix, std::size_t length, guest_reason *why)
{
    return guarded(why, [&] {
        const auto &room = running->hand_over(prefix, length);
        const auto refused = running->box.invoke<decltype(filter_set_prefix)>(
            GUEST_FUNCTION(filter_set_prefix), room, length);

        return refused.copy_and_verify([](int answer) {
            if (answer != 0) {
                throw tainting::error{"the guest refuses the prefix"};
            }
            return 0;
        });
    });
}

int guest_filter(const void *url, std::size_t length, guest_reason *why)
{
    return guarded(why, [&] {
        const auto &room = running->hand_over(url, length);
        const auto accepted = running->box.invoke<decltype(filter_url)>(
            GUEST_FUNCTION(filter_url), room, length);

        return accepted.copy_and_verify([](int answer) {
            if (answer != 0 && answer != 1) {
                throw tainting::error{"the guest answers neither 0 nor 1"};
            }
            return answer;
        });
    });
}
