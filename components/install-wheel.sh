#!/bin/sh
# install-wheel.sh REQUIREMENT: unpacks the one wheel that REQUIREMENT names, by version and hash, into $TARE_OUT.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-warn-script-location \
    --require-hashes --no-deps --only-binary :all: --no-compile --target "$TARE_OUT" -r "$1"
