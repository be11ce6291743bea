#!/usr/bin/env bash
# Builds nginx into $TARE_OUT and keeps its configured source there, for modules to be built against.
set -euo pipefail
cd "$(dirname "$0")"

host=$(rustc -vV | sed -n 's/^host: //p')
manifest=$(cargo metadata --locked --format-version 1 --filter-platform "$host" \
    --manifest-path source/Cargo.toml |
    python3 -c 'import json, sys
print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "nginx-src"))')

rm -rf "$TARE_OUT/src" "$TARE_OUT/sbin" "$TARE_OUT/bin"
mkdir -p "$TARE_OUT/bin" "$TARE_OUT/sbin"
cp -r "$(dirname "$manifest")/nginx" "$TARE_OUT/src"
cp configure-arguments "$TARE_OUT/src/"
install -m 755 build-module "$TARE_OUT/bin/build-module"

cd "$TARE_OUT/src"
mapfile -t arguments < configure-arguments
bash ./auto/configure "${arguments[@]}"
make -f objs/Makefile -j "${TARE_JOBS:-1}" binary
install -m 755 objs/nginx "$TARE_OUT/sbin/nginx"
# What modules need is the headers and the configuration; the objects only take space.
find objs -name '*.o' -delete
rm objs/nginx
