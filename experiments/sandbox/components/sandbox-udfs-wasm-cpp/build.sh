#!/bin/sh
# The functions of ../sandbox-udfs-cpp, from the same source, as modules for WASI preview 1.
set -eu
source=$TARE_ROOT/experiments/sandbox/udf
mkdir -p "$TARE_OUT/cpp"
for name in hello sieve sort payload; do
    clang++ --target=wasm32-wasi -std=c++17 -O2 -fno-exceptions -Wall -Wextra -Werror \
        -I "$source/include" -o "$TARE_OUT/cpp/$name" "$source/cpp/$name.cpp"
done
clang++ -dumpversion >"$TARE_OUT/version"
