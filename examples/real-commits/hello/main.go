// A server of fasthttp that answers every request with a header and a short text.
package main

import (
	"log"
	"os"

	"github.com/valyala/fasthttp"
)

func main() {
	answer := func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Cache-Control", "no-store")
		ctx.SetContentType("text/plain")
		ctx.SetBodyString("hello\n")
	}
	log.Fatal(fasthttp.ListenAndServe("127.0.0.1:"+os.Args[1], answer))
}
