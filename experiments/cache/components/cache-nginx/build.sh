#!/usr/bin/env bash
# build.sh [FLAGS]: links the shared nginx again, with the module, its harness and the task queues in
# it. FLAGS are the compiler's and the linker's, as for a sanitiser.
set -euo pipefail
cd "$(dirname "$0")"
own=$PWD
flags=${1:-}
source=$TARE_COMPONENT_NGINX/src

queue=$TARE_ROOT/experiments/cache/queue
make -s -C "$queue" OUT="$TARE_OUT/queue" CFLAGS="-O2 -g $flags"
export TASK_QUEUE=$TARE_OUT/queue
TASK_QUEUE_LIBS=$(make -s -C "$queue" libs)
export TASK_QUEUE_LIBS

wraps=-Wl,--wrap=ngx_thread_task_post,--wrap=ngx_thread_read
wraps+=,--wrap=ngx_http_file_cache_open,--wrap=ngx_open_cached_file

# configure writes into the current folder only, so links to the source keep it clean.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$source/auto" "$source/conf" "$source/src" "$scratch"
cd "$scratch"
mapfile -t arguments < "$source/configure-arguments"
bash ./auto/configure "${arguments[@]}" --add-module="$own/module" --add-module="$own/harness" \
    --add-module="$own/counts" \
    --with-cc-opt="-O2 $flags" \
    --with-ld-opt="$wraps $flags"
make -s -f objs/Makefile -j "${TARE_JOBS:-1}" binary
mkdir -p "$TARE_OUT/sbin"
install -m 755 objs/nginx "$TARE_OUT/sbin/nginx"
