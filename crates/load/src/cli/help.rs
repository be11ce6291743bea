//! The text below the options of `--help`.

/// Examples, the kinds of errors, and exit codes.
pub const EXAMPLES: &str = "\
Examples:
  as many requests as 64 connections carry; 20 for half a minute, on CPU 1
    tare-load http://127.0.0.1:8080/
    tare-load http://[::1]:8080/a -c 20 -d 30s --cpus 1
  5,000 a second by the clock, however slow the answers
    tare-load http://127.0.0.1:8080/ --rate 5000
  five times the rate for two seconds; the highest rate that holds a limit
    tare-load http://127.0.0.1:8080/ --rate 1000 --profile spike:5000:10s:2s
    tare-load http://h/ --steps 1000:20000:1000 -d 5s --require 'p99<5ms'
  a body with its type
    tare-load http://h/ -X POST --body '{}' -H 'Content-Type: text/x'
  in TLS, with only this cipher and group; HTTP/2, ten streams a connection
    tare-load https://h/ --cipher TLS_AES_128_GCM_SHA256 --group X25519
    tare-load https://127.0.0.1/ -p h2 -m 10 -c 20
  the version of HTTP that the server chooses, at another place; HTTP/3
    tare-load https://a.example/ -p auto --connect-to a.example:443:h:8443
    tare-load https://127.0.0.1/ -p h3 --rate 1000
  HTTP over a Unix socket; calls of gRPC, one message each
    tare-load http://unix:/run/app.sock:/path
    tare-load http://h:50051/pkg.Service/Method -p grpc --body-file message
  an echo server: 200,000 messages of 128 bytes, compared; over WebSocket
    tare-load tcp://127.0.0.1:9000 -c 20 -r 200000 -s 128
    tare-load ws://127.0.0.1:9000/echo -c 20 -s 128
  one message at a time over all connections in turn
    tare-load tcp://127.0.0.1:9000 --serial -q 30000 -d 60
  the requests of a file by their weights; of keys, some more often; of a log
    tare-load http://127.0.0.1:8080 --requests urls.txt
    tare-load http://h/{key} --keys 12000 --zipf 0.9 --think exp:1s -c 3100
    tare-load http://127.0.0.1:8080 --replay access.log --speed 10
  users that log in, and use the token of the answer
    tare-load http://127.0.0.1:8080 --requests steps.jsonl --sequence --cookies
  an instrument of the laboratory: JSON lines
    tare-load --spec spec.json

Latency runs from the moment a request was meant to be sent, so that a server
which stalls cannot hide the wait of those behind; service time and time to
first byte (ttfb) run from the actual send.

Errors by their kinds:
  connect          no usable connection: refused, reset, or a failed handshake
  connect_timeout  no usable connection in time (--connect-timeout)
  read             an answer cut short, malformed, reset, not asked for, or given
                   up with a connection on which another was late
  write            a request that could not be sent
  status, body     a whole answer that is not the expected one
  value            an answer without a value that --sequence takes from it
  timeout          an answer not whole in time (--timeout), from the actual send
  ttfb_timeout     an answer not begun in time (--ttfb-timeout), likewise

Exit codes:
  0    all is well; with --spec, there is a result
  1    a condition of --require does not hold, an answer was not correct or did
       not come (unless a condition on errors allows it), or the generator did
       not keep its schedule; with --spec, anything else
  2    the arguments, or the spec, cannot be used
  130  a signal stopped it early: the first ends the load, the next one the
       wait for the last answers
  141  nobody reads its output any more";
