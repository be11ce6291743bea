#!/bin/sh
# unpack-debian.sh PACKAGE=VERSION...: fetches Debian's packages and unpacks them into $TARE_OUT.
# Installing them would start servers.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get download -q "$@" || {
    echo "apt cannot fetch $* of Debian 12: run sudo apt-get update, and this again" >&2
    exit 1
}
for package in *.deb; do
    dpkg-deb -x "$package" "$TARE_OUT"
done
