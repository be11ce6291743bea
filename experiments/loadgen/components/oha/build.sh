#!/bin/sh
# Installs oha into $TARE_OUT, with the dependencies of its own lock file.
set -eu
cargo install --locked oha --version "=1.16.0" \
    --root "$TARE_OUT" --target-dir "$TARE_TARGET" --no-track
