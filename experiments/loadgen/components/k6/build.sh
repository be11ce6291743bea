#!/bin/sh
# Builds k6 into $TARE_OUT, with the dependencies that source/go.sum names.
set -eu
cd "$(dirname "$0")/source"
CGO_ENABLED=0 GOTOOLCHAIN=local go build -mod=readonly -trimpath -p "${TARE_JOBS:-1}" \
    -o "$TARE_OUT/bin/k6" go.k6.io/k6
