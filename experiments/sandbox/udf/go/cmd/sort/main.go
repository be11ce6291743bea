// As ../../../sort.c, in Go.
package main

import (
	"slices"

	"tare/udf"
)

func sorted(count uint64) (sum uint64) {
	items, state := make([]uint32, count), uint32(1)
	for index := range items {
		// Marsaglia's xorshift with 32 bits.
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		items[index] = state
	}
	slices.Sort(items)
	for _, item := range items {
		sum = sum*31 + uint64(item)
	}
	return sum
}

func main() {
	udf.Serve(func(request []byte, _ *udf.Host) []byte {
		return udf.AppendNumber(nil, 1, sorted(udf.Number(request, 1, 10_000)))
	})
}
