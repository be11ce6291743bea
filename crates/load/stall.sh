#!/bin/sh
# What a stall looks like to the load generator: nginx's worker is stopped for 1 s inside 10 s at
# 1000 requests a second. The truth: mean 50, p99 900, maximum 1000 ms.
set -eu
cd "$(dirname "$0")/../.."

state=$(./tare up loadgen/tare --json)
trap './tare down loadgen/tare >/dev/null' EXIT
field() { printf '%s' "$state" | python3 -c "import json, sys; print(json.load(sys.stdin)$1)"; }
port=$(field '["port"]["http"]')
master=$(field '["roles"]["server"]["pid"]')
worker=$(cat "/proc/$master/task/$master/children")

./tare load "http://127.0.0.1:$port/2b.txt" --rate 1000 --arrivals even -c 20 \
    --warmup 1s -d 10s --json "$@" > "${TMPDIR:-/tmp}/tare-stall.$$" &
load=$!
python3 -c "
import os, signal, time
time.sleep(5)
os.kill($worker, signal.SIGSTOP)
time.sleep(1)
os.kill($worker, signal.SIGCONT)"
wait "$load"
python3 -c "
import json
found = json.load(open('${TMPDIR:-/tmp}/tare-stall.$$'))['outcomes']
for name in ('mean', 'p50', 'p90', 'p99', 'max'):
    print(f'{name:5} {found[\"latency_\" + name + \"_us\"] / 1e3:8.1f} ms')"
rm "${TMPDIR:-/tmp}/tare-stall.$$"
