//! The text below the options of `--help`.

/// Examples, the kinds of errors, and exit codes.
pub const EXAMPLES: &str = "\
Examples:
  tare-load http://127.0.0.1:8080/                        as many requests as 64 connections carry
  tare-load http://[::1]:8080/a -c 20 -d 30s --cpus 1     20 connections, half a minute, on CPU 1
  tare-load http://127.0.0.1:8080/ --rate 5000            5,000 a second by the clock, however slow the answers
  tare-load http://127.0.0.1:8080/ -X POST --body '{}' -H 'Content-Type: application/json' --expect-status 201
  tare-load https://127.0.0.1/ --cipher TLS_AES_128_GCM_SHA256 --group X25519       only these are offered
  tare-load https://127.0.0.1/ -p h2 -m 10 -c 20                                     HTTP/2, ten streams on each connection
  tare-load https://a.example/ -p auto --connect-to a.example:443:127.0.0.1:8443     as the server chooses, at another place
  tare-load https://127.0.0.1/ -p h3 --rate 1000                                     HTTP/3
  tare-load http://unix:/run/app.sock:/path               HTTP over a Unix socket
  tare-load tcp://127.0.0.1:9000 -c 20 -r 200000 -s 128   an echo server: 200,000 messages of 128 bytes, compared
  tare-load http://127.0.0.1:50051/pkg.Service/Method -p grpc --body-file message.bin     calls of gRPC, one message each
  tare-load ws://127.0.0.1:9000/echo -c 20 -s 128         WebSocket messages that come back, compared
  tare-load tcp://127.0.0.1:9000 --serial -q 30000 -d 60  one message at a time over all connections in turn
  tare-load http://h/10k/{key} http://h/1m/{key} --weights 30,1 --keys 12000 --zipf 0.9 --think exp:1s -c 3100
  tare-load http://127.0.0.1:8080 --requests urls.txt     the requests of a file, at random by their weights
  tare-load http://127.0.0.1:8080 --replay access.log --speed 10     its requests at their times, ten times as fast
  tare-load http://127.0.0.1:8080/ --rate 1000 --profile spike:5000:10s:2s     five times the rate for two seconds
  tare-load http://127.0.0.1:8080/ --steps 1000:20000:1000 -d 5s --require 'p99<5ms'   the highest rate that holds it
  tare-load --spec spec.json                              an instrument of the laboratory: JSON lines

Latency runs from the moment a request was meant to be sent, so that a server which stalls cannot
hide the wait of those behind; service time and time to first byte (ttfb) run from the actual send.

Errors by their kinds:
  connect          no usable connection: refused, reset, or a handshake that failed
  connect_timeout  no usable connection in time (--connect-timeout)
  read             an answer cut short, malformed, reset, or not asked for
  write            a request that could not be sent
  status, body     a whole answer that is not the expected one
  timeout          an answer not whole in time (--timeout), from the actual send
  ttfb_timeout     an answer not begun in time (--ttfb-timeout), from the actual send

Exit codes: 0 all is well; 1 a condition of --require does not hold, an answer was not correct or did not
come (unless a condition on errors allows it), or the generator did not keep its schedule; 2 the arguments cannot be used; 130 a signal stopped it early: the
first ends the load, the next one the wait for the last answers; 141 nobody reads its output any more.
With --spec: 0 there is a result, 2 the spec cannot be used, 1 anything else.";
