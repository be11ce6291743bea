#!/bin/sh
# The functions of ../sandbox-udfs, from the same source, as modules for WASI preview 1.
set -eu
source=$TARE_ROOT/experiments/sandbox/udf
target=wasm32-wasip1

mkdir -p "$TARE_OUT/c" "$TARE_OUT/rust"
compile() {
    clang --target=wasm32-wasi -std=gnu11 -O2 -Wall -Wextra -Werror -I "$source/include" "$@"
}
for name in hello sieve sort payload; do
    compile -o "$TARE_OUT/c/$name" "$source/$name.c"
done
compile -I "$source/attack" -o "$TARE_OUT/c/attack" \
    "$source/attack/main.c" "$source/attack/wire.c" "$source"/attack/wasi/*.c
compile -DREADY='"R"' -o "$TARE_OUT/c/rude-deaf" "$source/rude.c"
compile -DREADY='"RR"' -o "$TARE_OUT/c/rude-loud" "$source/rude.c"
compile -DREADY='""' -o "$TARE_OUT/c/rude-mute" "$source/rude.c"

# The standard library comes with the compiler that is in use, in its version.
rustup target add "$target"
cargo build --release --locked --manifest-path "$TARE_ROOT/experiments/sandbox/crates/udf/Cargo.toml" \
    --target "$target" --target-dir "$TARE_TARGET" --jobs "$TARE_JOBS"
for name in hello sieve sort payload; do
    cp "$TARE_TARGET/$target/release/$name.wasm" "$TARE_OUT/rust/$name"
done
rustc --version | cut -d ' ' -f 2 >"$TARE_OUT/version"
