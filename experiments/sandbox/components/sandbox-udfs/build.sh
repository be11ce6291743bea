#!/bin/sh
# Static programs: C with musl's compiler wrapper, Rust for its musl target.
set -eu
source=$TARE_ROOT/experiments/sandbox/udf
target=$(uname -m)-unknown-linux-musl
suffix=
attacks='*.c'
compile() {
    musl-gcc -std=gnu11 -O2 -Wall -Wextra -Werror -static -I "$source/include" "$@"
}
. "$source/build.sh"
