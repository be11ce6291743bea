// As ../../../payload.c, in Go.
package main

import (
	"bytes"

	"tare/udf"
)

const (
	countRequest = iota
	answer
	callBack
)

func main() {
	udf.Serve(func(request []byte, host *udf.Host) (response []byte) {
		count, way := udf.Number(request, 2, 0), udf.Number(request, 3, countRequest)
		payload, seen := bytes.Repeat([]byte{'\n'}, int(udf.Number(request, 1, 0))), 0
		switch way {
		case answer:
			for ; count > 0; count-- {
				response = udf.AppendBytes(response, 2, payload)
				seen += len(payload)
			}
		case callBack:
			for ; count > 0; count-- {
				seen += len(host.Call("echo", payload))
			}
		default:
			udf.Each(request, func(field uint64, _ uint64, bytes []byte) {
				if field == 4 {
					seen += len(bytes)
				}
			})
		}
		return udf.AppendNumber(response, 1, uint64(seen))
	})
}
