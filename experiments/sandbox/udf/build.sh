# What both kinds of the functions' builds have in common; read by their build.sh, which defines
# source (this folder), target and suffix (Rust's), compile (C's compiler and its options) and
# attacks (the sources of the attacks).
mkdir -p "$TARE_OUT/c" "$TARE_OUT/rust"
for name in hello sieve sort payload mirror log restless; do
    compile -o "$TARE_OUT/c/$name" "$source/$name.c"
done
(cd "$source/attack" && compile -I . -o "$TARE_OUT/c/attack" $attacks)
compile -DREADY='"R"' -o "$TARE_OUT/c/rude-deaf" "$source/rude.c"
compile -DREADY='"RR"' -o "$TARE_OUT/c/rude-loud" "$source/rude.c"
compile -DREADY='""' -o "$TARE_OUT/c/rude-mute" "$source/rude.c"

# The standard library comes with the compiler that is in use, in its version.
rustup target add "$target"
cargo build --release --locked --manifest-path "$TARE_ROOT/experiments/sandbox/crates/udf/Cargo.toml" \
    --target "$target" --target-dir "$TARE_TARGET" --jobs "$TARE_JOBS"
for name in hello sieve sort payload mirror; do
    cp "$TARE_TARGET/$target/release/$name$suffix" "$TARE_OUT/rust/$name"
done
rustc --version | cut -d ' ' -f 2 >"$TARE_OUT/version"
