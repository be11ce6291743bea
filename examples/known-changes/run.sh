#!/bin/sh
# Duels of five servers with a known change each, and of each with itself: run.sh [PAIR...]; run.py says how.
set -eu
cd "$(dirname "$0")/../.."
./tare list >/dev/null # sets up what run.py needs
TARE_ROOT=$PWD exec .venv/bin/python examples/known-changes/run.py "$@"
