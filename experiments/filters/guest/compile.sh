#!/bin/sh
# compile.sh SOURCE.c OUTPUT.wasm: compiles a guest to WebAssembly.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# Its own code is what a guest costs: optimised as the native filters are. No more than 16 MiB of
# memory, of which the stack is the first part, so that overrunning it leaves the memory.
clang --target=wasm32 -std=gnu11 -O2 -Wall -Wextra -Werror -nostdlib -ffreestanding -fno-builtin \
    -isystem "$here/wasm" -I "$here" -I "$here/../include" \
    -Wl,--no-entry -Wl,--strip-all -Wl,--stack-first -Wl,-z,stack-size=32768 -Wl,--max-memory=16777216 \
    -o "$2" "$1" "$here/wasm/string.c" "$here/wasm/buffer.c"
