#!/bin/sh
# Builds the program, the library that runs it and the controller that loads it into $TARE_OUT.
set -eu
cd "$(dirname "$0")"
mkdir -p "$TARE_OUT/bin"
clang -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -c filter.bpf.c -o "$TARE_OUT/filter.bpf.o"

# Without optimisation at link time: it takes minutes over the compiler inside, which no request runs.
# Panics unwind, so that the library stops them before they reach nginx.
CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_PANIC=unwind \
    cargo build --release --locked --jobs "${TARE_JOBS:-1}" \
    --target-dir "$TARE_TARGET" --manifest-path program/Cargo.toml
install -m 755 "$TARE_TARGET/release/liburl_filter_ebpf.so" "$TARE_OUT/url_filter.so"
install -m 755 "$TARE_TARGET/release/filter-ebpf-controller" "$TARE_OUT/bin/filter-ebpf-controller"
