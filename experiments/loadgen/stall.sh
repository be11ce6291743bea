#!/bin/sh
# What a stall of the server looks like to each generator: stall.sh [GENERATOR...]; stall.py says how.
set -eu
cd "$(dirname "$0")/../.."
./tare list >/dev/null # sets up what stall.py needs
TARE_ROOT=$PWD exec .venv/bin/python experiments/loadgen/stall.py "$@"
