#!/bin/sh
# Builds the nginx module into $TARE_OUT, against exactly this nginx.
set -eu
cd "$(dirname "$0")"
export NGINX_SOURCE_DIR="$TARE_COMPONENT_NGINX/src" NGINX_BUILD_DIR="$TARE_COMPONENT_NGINX/src/objs"
cargo build --release --locked --jobs "${TARE_JOBS:-1}" --target-dir "$TARE_TARGET/rust-module" \
    --manifest-path module/Cargo.toml
install -m 644 "$TARE_TARGET/rust-module/release/libngx_http_rust_filter_module.so" \
    "$TARE_OUT/ngx_http_rust_filter_module.so"
