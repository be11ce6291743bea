#!/bin/sh
# Static programs, with glibc: musl has no C++ of its own.
set -eu
source=$TARE_ROOT/experiments/sandbox/udf
mkdir -p "$TARE_OUT/cpp"
for name in hello sieve sort payload; do
    g++ -std=c++17 -O2 -Wall -Wextra -Werror -static -I "$source/include" \
        -o "$TARE_OUT/cpp/$name" "$source/cpp/$name.cpp"
done
g++ -dumpfullversion >"$TARE_OUT/version"
