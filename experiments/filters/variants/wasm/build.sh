#!/bin/sh
# Builds the filter library and its compiled guest, once for each limit, into $TARE_OUT.
set -eu
cd "$(dirname "$0")"
filters=$TARE_ROOT/experiments/filters

sh "$filters/guest/compile.sh" "$filters/guest/url_filter.c" "$TARE_OUT/url_filter.wasm"
for limit in epoch fuel none; do
    PYTHONPATH=$TARE_COMPONENT_WASMTIME python3 compile.py \
        "$TARE_OUT/url_filter.wasm" "$TARE_OUT/url_filter.$limit.cwasm" --limit "$limit"
done

# What the library calls for a module that is not compiled.
cp compile.py "$TARE_OUT"
cat > "$TARE_OUT/compile-wasm" <<END
#!/bin/sh
# compile-wasm MODULE.wasm LIMIT: writes the compiled module to standard output.
PYTHONPATH='$TARE_COMPONENT_WASMTIME' exec python3 "\$(dirname "\$0")/compile.py" "\$1" /dev/stdout --limit "\$2"
END
chmod 755 "$TARE_OUT/compile-wasm"

cargo build --release --locked --jobs "${TARE_JOBS:-1}" --target-dir "$TARE_TARGET" \
    --manifest-path "$TARE_ROOT/Cargo.toml" --package filter-wasm
# A Rust library with threads of its own is never unloaded.
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -Wl,-z,nodelete \
    -Wl,--exclude-libs,ALL -Wl,--gc-sections -I "$filters/include" -o "$TARE_OUT/url_filter.so" \
    "$filters/library/guest_library.c" "$TARE_TARGET/release/libfilter_wasm.a" -lpthread -ldl -lm -lgcc_s
