// Package udf writes functions that a sandbox runs: Serve gives the request's bytes to a function and
// returns the response's.
//
// The wire: the first argument is the number of a socket. The function says one byte when it is ready,
// reads its request, a length as a varint and then the bytes, writes its response likewise, and ends.
package udf

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"strconv"
	"syscall"
)

const (
	callback = "type.googleapis.com/privacy_sandbox.server_common.byob.Callback"
	response = "type.googleapis.com/tare.Response"
)

// socket is the number of one; without a host at its other end there is nobody to tell, and the process ends.
type socket int

// Host is at the other end of the socket.
type Host struct {
	socket socket
	// Small messages are read at once.
	reader *bufio.Reader
	// Messages are wrapped in Any, as they are where callbacks are allowed.
	wrapped bool
}

// Serve serves one call with function. It ends the process when the sandbox does not speak the wire.
func Serve(function func(request []byte, host *Host) []byte) {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	number, err := strconv.Atoi(os.Args[1])
	if err != nil {
		os.Exit(2)
	}
	host := &Host{socket: socket(number), reader: bufio.NewReader(socket(number))}
	host.socket.write([]byte("R"))
	answer := function(host.recv(), host)
	if host.wrapped {
		answer = AppendBytes(AppendBytes(nil, 1, []byte(response)), 2, answer)
	}
	host.send(answer)
}

// Call calls a function of the host; nil when it refuses.
func (host *Host) Call(name string, input []byte) []byte {
	host.wrapped = true
	call := AppendBytes(AppendBytes(nil, 1, []byte(name)), 2, AppendBytes(nil, 4, input))
	host.send(AppendBytes(AppendBytes(nil, 1, []byte(callback)), 2, call))
	return Bytes(Bytes(host.recv(), 2), 8)
}

func (host *Host) send(body []byte) {
	host.socket.write(append(binary.AppendUvarint(nil, uint64(len(body))), body...))
}

func (host *Host) recv() []byte {
	length, err := binary.ReadUvarint(host.reader)
	if err != nil {
		os.Exit(1)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(host.reader, body); err != nil {
		os.Exit(1)
	}
	return body
}

func (to socket) write(bytes []byte) {
	for len(bytes) > 0 {
		bytes = bytes[moved(syscall.Write(int(to), bytes)):]
	}
}

// Read is io.Reader's.
func (from socket) Read(into []byte) (int, error) {
	for {
		if count := moved(syscall.Read(int(from), into)); count > 0 {
			return count, nil
		}
	}
}

// moved is how many bytes a call moved, none when it was interrupted.
func moved(count int, err error) int {
	if err == syscall.EINTR {
		return 0
	}
	if err != nil || count <= 0 {
		os.Exit(1)
	}
	return count
}
