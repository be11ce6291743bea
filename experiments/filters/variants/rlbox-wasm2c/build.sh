#!/bin/sh
# Builds the filter library into $TARE_OUT, from the guest that FILTER_GUEST names (a C source), or the
# experiment's.
set -eu
cd "$(dirname "$0")"
filters=$TARE_ROOT/experiments/filters
made=$TARE_OUT/wasm2c
sh "$filters/library/build-wasm2c.sh" "${FILTER_GUEST:-$filters/guest/url_filter.c}" "$made"
# shellcheck disable=SC2046
set -- -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -I "$filters/include" -I "$filters/guest" \
    $(cat "$made/flags")
"${CC:-cc}" -std=gnu11 "$@" -c "$filters/library/guest_library.c" -o "$made/guest_library.o"
"${CXX:-c++}" -std=c++20 "$@" -DBACKEND='"wasm2c.hpp"' -DNAME='"rlbox-wasm2c"' \
    -shared -Wl,-z,nodelete -o "$TARE_OUT/url_filter.so" "$filters/tainting/url_filter.cpp" "$made"/*.o
