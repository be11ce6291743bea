#!/bin/sh
# Makes a key and a certificate for it in $TARE_OUT.
set -eu
cd "$(dirname "$0")"
umask 077
openssl req -x509 -config request.cnf -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -days 3650 -keyout "$TARE_OUT/key.pem" -out "$TARE_OUT/certificate.pem"
cat "$TARE_OUT/certificate.pem" "$TARE_OUT/key.pem" > "$TARE_OUT/both.pem"
chmod 644 "$TARE_OUT/certificate.pem"
