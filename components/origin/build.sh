#!/bin/sh
# Puts the command and the server that it starts beside each other in $TARE_OUT.
set -eu
mkdir "$TARE_OUT/bin"
cp "$TARE_COMPONENT_NGINX/sbin/nginx" "$TARE_OUT/bin/nginx"
install -m 755 origin "$TARE_OUT/bin/origin"
