#!/bin/sh
# Builds the filter library into $TARE_OUT, from the guest that FILTER_GUEST names (a C source), or the
# experiment's, compiled natively.
set -eu
cd "$(dirname "$0")"
filters=$TARE_ROOT/experiments/filters
set -- -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -ftls-model=initial-exec \
    -I "$filters/include" -I "$filters/guest"
for source in "${FILTER_GUEST:-$filters/guest/url_filter.c}" "$filters/library/guest_library.c"; do
    "${CC:-cc}" -std=gnu11 "$@" -c "$source" -o "$TARE_OUT/$(basename "$source" .c).o"
done
"${CXX:-c++}" -std=c++20 "$@" -DBACKEND='"noop.hpp"' -DNAME='"rlbox-noop"' \
    -shared -Wl,-z,nodelete -o "$TARE_OUT/url_filter.so" "$filters/tainting/url_filter.cpp" "$TARE_OUT"/*.o
