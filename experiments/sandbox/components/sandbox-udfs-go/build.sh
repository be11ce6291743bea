#!/bin/sh
# Static programs, without C.
set -eu
mkdir -p "$TARE_OUT/go"
cd "$TARE_ROOT/experiments/sandbox/udf/go"
CGO_ENABLED=0 GOTOOLCHAIN=local go build -trimpath -p "${TARE_JOBS:-1}" \
    -ldflags "-s -w" -o "$TARE_OUT/go/" ./cmd/...
go env GOVERSION | cut -c 3- >"$TARE_OUT/version"
