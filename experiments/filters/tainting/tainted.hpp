/* SPDX-License-Identifier: Apache-2.0 */
/* A value that a sandbox may have made up: it is of no use before somebody has looked at it. */

#pragma once

#include <type_traits>
#include <utility>

#include "error.hpp"

namespace tainting {

/* T as the host's types have it, kept as the sandbox of Backend has it: a pointer is whatever
 * addresses are in there. Nothing but the sandbox itself can make a tainted pointer. */
template <typename T, typename Backend> class tainted {
  public:
    using representation = typename Backend::template representation<T>;

    /* Our own values may go in. One that the sandbox's type cannot hold is refused, not cut. */
    tainted(T value)
        requires std::is_arithmetic_v<T>
        : value_(static_cast<representation>(value))
    {
        if (static_cast<T>(value_) != value) {
            throw error{"a number is too large for the sandbox"};
        }
    }

    /* The one way out: `verifier` is given a copy, which the sandbox can no longer change, and its
     * answer is trusted. */
    template <typename Verifier> auto copy_and_verify(Verifier &&verifier) const
    {
        static_assert(std::is_arithmetic_v<T>, "what a pointer points to is the sandbox's");
        const T copy = static_cast<T>(value_);
        return std::forward<Verifier>(verifier)(copy);
    }

  private:
    template <typename> friend class sandbox;
    struct from_sandbox {};

    tainted(from_sandbox, representation value) : value_(value) {}

    representation value_;
};

} // namespace tainting
