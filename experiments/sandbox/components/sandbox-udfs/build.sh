#!/bin/sh
# Static programs: C with musl's compiler wrapper, Rust for its musl target.
set -eu
source=$TARE_ROOT/experiments/sandbox/udf
target=x86_64-unknown-linux-musl

mkdir -p "$TARE_OUT/c" "$TARE_OUT/rust"
compile() {
    musl-gcc -std=gnu11 -O2 -Wall -Wextra -Werror -static -I "$source/include" "$@"
}
for name in hello sieve sort payload; do
    compile -o "$TARE_OUT/c/$name" "$source/$name.c"
done
compile -o "$TARE_OUT/c/attack" "$source"/attack/*.c
compile -DREADY='"R"' -o "$TARE_OUT/c/rude-deaf" "$source/rude.c"
compile -DREADY='"RR"' -o "$TARE_OUT/c/rude-loud" "$source/rude.c"
compile -DREADY='""' -o "$TARE_OUT/c/rude-mute" "$source/rude.c"

# The standard library comes with the compiler that is in use, in its version.
rustup target add "$target"
cargo build --release --locked --manifest-path "$TARE_ROOT/experiments/sandbox/crates/udf/Cargo.toml" \
    --target "$target" --target-dir "$TARE_TARGET" --jobs "$TARE_JOBS"
for name in hello sieve sort payload; do
    cp "$TARE_TARGET/$target/release/$name" "$TARE_OUT/rust/$name"
done
rustc --version | cut -d ' ' -f 2 >"$TARE_OUT/version"
