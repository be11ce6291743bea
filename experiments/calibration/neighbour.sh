#!/bin/sh
# What else runs on the machine while two servers are compared: nothing, compilers, or bursts of work.
set -eu

# A program that takes a compiler some seconds.
source_code() {
    echo '#include <stdio.h>'
    seq 1 400 | while read -r n; do
        echo "int f$n(int a, int b) { for (int i = 0; i < a; i++) b = b * $n + (b >> 3) + i; return b; }"
    done
}

case $1 in
    none) exec sleep infinity ;;
    compilers)
        folder=$(mktemp -d)
        trap 'rm -rf "$folder"' EXIT
        trap 'exit 0' TERM
        source_code > "$folder/program.c"
        for _ in 1 2 3; do
            while :; do cc -O2 -c -o /dev/null "$folder/program.c"; done &
        done
        wait
        ;;
    bursts)
        # 30 of every 100 milliseconds.
        while :; do
            timeout 0.03 sh -c 'while :; do :; done' || true
            sleep 0.07
        done
        ;;
    *) echo "found neighbour $1, expected none, compilers or bursts" >&2; exit 2 ;;
esac
