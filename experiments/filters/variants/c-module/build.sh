#!/usr/bin/env bash
# Builds the nginx module and its controller into $TARE_OUT.
set -euo pipefail
cd "$(dirname "$0")"

"$TARE_COMPONENT_NGINX/bin/build-module" module "$TARE_OUT"

cargo build --release --locked --jobs "${TARE_JOBS:-1}" --target-dir "$TARE_TARGET" \
    --manifest-path "$TARE_ROOT/Cargo.toml" --package filter-controller
mkdir -p "$TARE_OUT/bin"
install -m 755 "$TARE_TARGET/release/filter-controller" "$TARE_OUT/bin/filter-controller"
