#!/bin/sh
# Builds the filter library into $TARE_OUT, from the guest that FILTER_GUEST names (a C source), or the
# experiment's.
set -eu
cd "$(dirname "$0")"
filters=$TARE_ROOT/experiments/filters
made=$TARE_OUT/wasm2c
sh "$filters/library/build-wasm2c.sh" "${FILTER_GUEST:-$filters/guest/url_filter.c}" "$made"
# shellcheck disable=SC2046
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -Wl,-z,nodelete \
    -I "$filters/include" $(cat "$made/flags") -o "$TARE_OUT/url_filter.so" \
    guest.c "$filters/library/guest_library.c" "$made"/*.o
