#!/usr/bin/env bash
# Runs the lines of RECOMMENDED.md that build nginx.
set -euo pipefail
cd "$(dirname "$0")"
page=$PWD/../../RECOMMENDED.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# configure writes into the current folder only, so links to the source keep it clean.
source=$TARE_COMPONENT_NGINX/src
ln -s "$source/auto" "$source/conf" "$source/src" "$scratch"
ln -s auto/configure "$scratch/configure"
# make wants the manual page, too, which the source that we have leaves out.
mkdir -p "$scratch/docs/man"
touch "$scratch/docs/man/nginx.8"

export TARE=$TARE_ROOT MAKEFLAGS="-s -j${TARE_JOBS:-1}"
OPTIONS=$(tr '\n' ' ' < "$source/configure-arguments")
export OPTIONS
sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$page" > "$scratch/lines"
(cd "$scratch" && bash -euo pipefail lines)

mkdir -p "$TARE_OUT/sbin"
install -m 755 "$scratch/objs/nginx" "$TARE_OUT/sbin/nginx"
