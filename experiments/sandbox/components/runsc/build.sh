#!/bin/sh
# Builds runsc into $TARE_OUT, with the dependencies that source/go.sum names.
set -eu
cd "$(dirname "$0")/source"
CGO_ENABLED=0 GOTOOLCHAIN=local go build -mod=readonly -trimpath -p "${TARE_JOBS:-1}" \
    -ldflags "-s -w -X gvisor.dev/gvisor/runsc/version.version=20260905.0" \
    -o "$TARE_OUT/bin/runsc" gvisor.dev/gvisor/runsc
