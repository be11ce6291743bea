// As ../../../hello.c, in Go.
package main

import "tare/udf"

func main() {
	udf.Serve(func([]byte, *udf.Host) []byte {
		return udf.AppendBytes(nil, 1, []byte("Hello, world!"))
	})
}
