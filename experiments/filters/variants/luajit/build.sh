#!/bin/sh
# Builds the filter library into $TARE_OUT, beside its script.
set -eu
cd "$(dirname "$0")"
filters=$TARE_ROOT/experiments/filters
# shellcheck disable=SC2046
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -Wl,-z,nodelete \
    -I "$filters/include" $(pkg-config --cflags luajit) -o "$TARE_OUT/url_filter.so" \
    guest.c "$filters/library/guest_library.c" $(pkg-config --libs luajit)
cp url_filter.lua "$TARE_OUT/"
