// Node's own HTTP servers: `server.js FOLDER HOST PORT TLS_PORT CERTIFICATE`, a line in
// FOLDER/access.log a request.
"use strict";
const fs = require("fs");
const http = require("http");
const http2 = require("http2");

const [folder, host, port, tlsPort, certificate] = process.argv.slice(2);
const log = fs.openSync(`${folder}/access.log`, "a");

let stopping = false;

function answer(request, response) {
    // Older versions of Node keep connections that a client keeps busy.
    if (stopping && request.httpVersionMajor === 1) response.setHeader("Connection", "close");
    fs.writeSync(log, `${request.method} ${request.url}\n`);
    request.resume();
    request.on("end", () => {
        if (request.url === "/early") response.writeEarlyHints({ link: "</a.css>; rel=preload" });
        if (request.url !== "/chunked") response.setHeader("Content-Length", 6);
        if (request.method === "HEAD") return response.end();
        if (request.url === "/chunked") response.write("hel");
        response.end(request.url === "/chunked" ? "lo\n" : "hello\n");
    });
}

const servers = [
    http.createServer(answer).listen(port, host),
    http2.createSecureServer({
        allowHTTP1: true,
        key: fs.readFileSync(`${certificate}/key.pem`),
        cert: fs.readFileSync(`${certificate}/certificate.pem`),
    }, answer).listen(tlsPort, host),
];
const sessions = new Set();
servers[1].on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
});
process.on("SIGTERM", () => {
    stopping = true;
    for (const server of servers) server.close();
    // It says GOAWAY, and ends once its streams have.
    for (const session of sessions) session.close();
});
