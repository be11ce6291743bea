#!/bin/sh
# A CGI script that takes a body.
cat >/dev/null
printf 'Content-Type: text/plain\r\n\r\nhello\n'
