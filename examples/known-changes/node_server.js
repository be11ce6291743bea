// Node's own HTTP server: `node_server.js PORT [allocate]`; `allocate` takes 64 KB a request.
"use strict";
const http = require("http");

const allocates = process.argv[3] === "allocate";
// What was allocated last: an allocation that nobody keeps could be left out.
let kept;
const body = "hello\n";

http.createServer((request, response) => {
    if (allocates) kept = Buffer.alloc(64 * 1024);
    response.writeHead(200, { "Content-Type": "text/plain", "Content-Length": body.length });
    response.end(body);
}).listen(Number(process.argv[2]), "127.0.0.1");
