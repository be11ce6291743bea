package udf

import "encoding/binary"

// AppendNumber adds a field with a number to a message, as protobuf has it.
func AppendNumber(message []byte, field uint64, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(message, field<<3), value)
}

// AppendBytes adds a field with bytes.
func AppendBytes(message []byte, field uint64, value []byte) []byte {
	message = binary.AppendUvarint(message, field<<3|2)
	return append(binary.AppendUvarint(message, uint64(len(value))), value...)
}

// Each shows every field of a message, up to its end or to where it is broken.
func Each(message []byte, see func(field uint64, number uint64, bytes []byte)) {
	for len(message) > 0 {
		key, used := binary.Uvarint(message)
		if used <= 0 {
			return
		}
		message = message[used:]
		number, used := binary.Uvarint(message)
		if used <= 0 {
			return
		}
		message = message[used:]
		switch {
		case key&7 == 0:
			see(key>>3, number, nil)
		case key&7 == 2 && number <= uint64(len(message)):
			see(key>>3, 0, message[:number])
			message = message[number:]
		default:
			return
		}
	}
}

// Number is the last number in a field; otherwise without it.
func Number(message []byte, field uint64, otherwise uint64) uint64 {
	Each(message, func(found uint64, number uint64, _ []byte) {
		if found == field {
			otherwise = number
		}
	})
	return otherwise
}

// Bytes are the last bytes in a field; nil without it.
func Bytes(message []byte, field uint64) (last []byte) {
	Each(message, func(found uint64, _ uint64, bytes []byte) {
		if found == field {
			last = bytes
		}
	})
	return last
}
