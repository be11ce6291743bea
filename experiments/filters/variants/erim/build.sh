#!/bin/sh
# Builds the filter library into $TARE_OUT.
set -eu
cd "$(dirname "$0")"
# Everything is bound when the library is loaded: nothing is looked up inside the domain.
# FILTER_EXTRA names one more source, for trying what the scan finds.
# shellcheck disable=SC2086
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden \
    -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -I "$TARE_ROOT/experiments/filters/include" \
    -o "$TARE_OUT/url_filter.so" url_filter.c trusted.c domain.c scan.c gates.S ${FILTER_EXTRA:-}
