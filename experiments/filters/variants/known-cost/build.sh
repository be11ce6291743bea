#!/bin/sh
# Builds the filter library into $TARE_OUT.
set -eu
cd "$(dirname "$0")"
mkdir -p "$TARE_OUT"
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden \
    -I "$TARE_ROOT/experiments/filters/include" -o "$TARE_OUT/url_filter.so" url_filter.c
