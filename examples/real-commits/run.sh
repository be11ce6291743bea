#!/bin/sh
# One duel about a real change: run.sh accept|via|inline [OPTION OF tare duel ...]. README.md says what they are.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tare=$(dirname "$(dirname "$here")")/tare
work=${XDG_CACHE_HOME:-$HOME/.cache}/tare/real-commits
mkdir -p "$work"

# caddy COMMIT CONFIG OPTION...: a commit of Caddy against the one before it.
caddy() {
	commit=$1 config=$here/$2
	shift 2
	[ -d "$work/caddy" ] || git clone --quiet "${CADDY:-https://github.com/caddyserver/caddy}" "$work/caddy"
	cd "$work/caddy"
	git checkout --quiet --force "$commit"
	exec "$tare" duel --against "$commit~1" --build 'go build -o server ./cmd/caddy' \
		"./server run --adapter caddyfile --config {file:$config}" "$@"
}

# inline OPTION...: a server of fasthttp against the same, with one function called and not inlined.
inline() {
	cp -r "$here/hello" "$work/"
	cd "$work/hello"
	go mod vendor
	go build -o inlined .
	sed -i 's|^func appendHeaderLine(|//go:noinline\n&|' vendor/github.com/valyala/fasthttp/header.go
	go build -o called .
	exec "$tare" duel './inlined {port}' './called {port}' "$@"
}

which=${1:?"expected accept, via or inline"}
shift
case $which in
accept) caddy 323e3fe4b accept.Caddyfile -H 'Accept-Encoding: gzip, deflate, br;q=0.9, zstd;q=0.8' "$@" ;;
via) caddy 047675485 via.Caddyfile --backend "$@" ;;
inline) inline "$@" ;;
*) echo "found $which, expected accept, via or inline" >&2 && exit 2 ;;
esac
