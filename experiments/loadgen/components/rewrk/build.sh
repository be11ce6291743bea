#!/bin/sh
# Installs rewrk into $TARE_OUT, with the dependencies of its own lock file.
set -eu
cargo install --locked rewrk --version "=0.3.2" \
    --root "$TARE_OUT" --target-dir "$TARE_TARGET" --no-track
