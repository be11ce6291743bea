#!/bin/sh
# The functions of ../sandbox-udfs, from the same source, as modules for WASI preview 1.
set -eu
source=$TARE_ROOT/experiments/sandbox/udf
target=wasm32-wasip1
suffix=.wasm
attacks='main.c wire.c wasi/*.c'
compile() {
    clang --target=wasm32-wasi -std=gnu11 -O2 -Wall -Wextra -Werror -I "$source/include" "$@"
}
. "$source/build.sh"
