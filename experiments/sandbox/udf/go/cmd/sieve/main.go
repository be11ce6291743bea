// As ../../../sieve.c, in Go.
package main

import "tare/udf"

func primes(most uint64) (count uint64) {
	composite := make([]bool, most+1)
	for number := uint64(2); number <= most; number++ {
		if composite[number] {
			continue
		}
		count++
		for multiple := number * number; multiple <= most; multiple += number {
			composite[multiple] = true
		}
	}
	return count
}

func main() {
	udf.Serve(func(request []byte, _ *udf.Host) []byte {
		return udf.AppendNumber(nil, 1, primes(udf.Number(request, 1, 100_000)))
	})
}
