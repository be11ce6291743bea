#!/bin/sh
# Fetches Debian's packages, by version, and unpacks what the variants need of them into $TARE_OUT.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get download -q nginx=1.22.1-9+deb12u11 libnginx-mod-http-js=0.7.9-2 \
    libnginx-mod-http-lua=1:0.10.23-1+deb12u1 libnginx-mod-http-ndk=1:0.3.2-3 \
    libluajit2-5.1-2=2.1-20230119-1 lua-resty-core=0.1.25-1 lua-resty-lrucache=0.13-10 \
    libpcre3=2:8.39-15 || {
    echo "apt cannot fetch these packages of Debian 12: run sudo apt-get update, and this again" >&2
    exit 1
}
for package in *.deb; do
    dpkg-deb -x "$package" unpacked
done
mkdir -p "$TARE_OUT/lib" "$TARE_OUT/sbin"
cp unpacked/usr/sbin/nginx "$TARE_OUT/sbin/nginx"
cp -r unpacked/usr/lib/nginx/modules "$TARE_OUT/modules"
find unpacked -name 'libluajit-5.1.so*' -exec cp -P {} "$TARE_OUT/lib/" \;
find unpacked -name 'libpcre.so*' -exec cp -P {} "$TARE_OUT/lib/" \;
cp -r unpacked/usr/share/lua/5.1 "$TARE_OUT/lua"
