#!/usr/bin/env bash
# Links the shared nginx again, with the module and the task queues in it.
set -euo pipefail
cd "$(dirname "$0")"
module=$PWD/module
source=$TARE_COMPONENT_NGINX/src

make -s -C "$TARE_ROOT/experiments/cache/queue" OUT="$TARE_OUT/queue"
export TASK_QUEUE=$TARE_OUT/queue
TASK_QUEUE_LIBS=$(pkg-config --libs-only-l libdpdk | tr ' ' '\n' | grep -xE -- '-lrte_(ring|eal)' | tr '\n' ' ')
export TASK_QUEUE_LIBS

# configure writes into the current folder only, so links to the source keep it clean.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$source/auto" "$source/conf" "$source/src" "$scratch"
cd "$scratch"
mapfile -t arguments < "$source/configure-arguments"
bash ./auto/configure "${arguments[@]}" --add-module="$module" \
    --with-ld-opt="-Wl,--wrap=ngx_thread_task_post,--wrap=ngx_thread_read"
make -s -f objs/Makefile -j "${TARE_JOBS:-1}" binary
mkdir -p "$TARE_OUT/sbin"
install -m 755 objs/nginx "$TARE_OUT/sbin/nginx"
