/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox in the style of RLBox: its functions are called through it, with what they take and answer
 * converted and tainted by their types. What isolates is the Backend, which brings
 *
 *   representation<T>           the type that T has in there
 *   start(), stop()             makes and ends it
 *   call(function, arguments…)  calls one of its functions, in its types
 *   allocate(size)              address of room in its memory, or 0: its own word for it
 *   at(address, size)           where that is in the host's memory; null unless all of it is inside
 */

#pragma once

#include <cstddef>
#include <cstring>

#include "tainted.hpp"

namespace tainting {

template <typename Backend> class sandbox {
  public:
    template <typename T> using value = tainted<T, Backend>;

    sandbox() { Backend::start(); }
    ~sandbox() { Backend::stop(); }
    sandbox(const sandbox &) = delete;
    sandbox &operator=(const sandbox &) = delete;

    /* Calls `function` of the sandbox, which the host's header declares as Signature. */
    template <typename Signature, typename Function, typename... Arguments>
    auto invoke(Function function, const Arguments &...arguments)
    {
        const inside entered(this);
        return call(static_cast<Signature *>(nullptr), function, arguments...);
    }

    /* Room for `count` of T. */
    template <typename T> value<T *> allocate(std::size_t count)
    {
        const inside entered(this);
        const value<T *> made(typename value<T *>::from_sandbox{}, Backend::allocate(count * sizeof(T)));

        if (Backend::at(made.value_, count * sizeof(T)) == nullptr) {
            throw error{"the guest has no room for so many bytes"};
        }
        return made;
    }

    /* Copies `count` of T to where `to` points, if all of that is the sandbox's memory. */
    template <typename T> void copy_in(const value<T *> &to, const T *from, std::size_t count)
    {
        void *target = Backend::at(to.value_, count * sizeof(T));

        if (target == nullptr) {
            throw error{"a pointer leads out of the sandbox"};
        }
        std::memcpy(target, from, count * sizeof(T));
    }

  private:
    /* Which sandbox runs on this thread: a host that is called back would ask. */
    inline static thread_local sandbox *current = nullptr;

    class inside {
      public:
        explicit inside(sandbox *entered) : before_(current)
        {
            if (before_ == entered) {
                throw error{"the sandbox is called while it runs"};
            }
            current = entered;
        }
        ~inside() { current = before_; }

      private:
        sandbox *before_;
    };

    template <typename R, typename... Parameters, typename Function, typename... Arguments>
    static value<R> call(R (*)(Parameters...), Function function, const Arguments &...arguments)
    {
        static_assert(sizeof...(Parameters) == sizeof...(Arguments), "as many as are declared");
        return value<R>(typename value<R>::from_sandbox{},
                        Backend::call(function, as_parameter<Parameters>(arguments)...));
    }

    /* Of a parameter's own type when it is called: our number, or something tainted of that type. A
     * pointer to const takes a pointer to what is not. A pointer of the host's does not compile. */
    template <typename Parameter, typename Argument>
    static auto as_parameter(const Argument &argument)
    {
        if constexpr (std::is_pointer_v<Parameter>) {
            using pointed = std::remove_const_t<std::remove_pointer_t<Parameter>>;
            return static_cast<const value<pointed *> &>(argument).value_;
        } else {
            return value<Parameter>(argument).value_;
        }
    }
};

} // namespace tainting
