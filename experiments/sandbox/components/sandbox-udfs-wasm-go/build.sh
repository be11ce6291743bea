#!/bin/sh
# The functions of ../sandbox-udfs-go, from the same source, as modules for WASI preview 1.
set -eu
mkdir -p "$TARE_OUT/go"
cd "$TARE_ROOT/experiments/sandbox/udf/go"
GOOS=wasip1 GOARCH=wasm GOTOOLCHAIN=local go build -trimpath -p "${TARE_JOBS:-1}" \
    -ldflags "-s -w" -o "$TARE_OUT/go/" ./cmd/...
go env GOVERSION | cut -c 3- >"$TARE_OUT/version"
