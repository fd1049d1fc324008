package bridge

import (
	"bufio"
	"bytes"
	"io"
)

// readEvents reads server-sent events and calls take with the data of each. It returns the
// error of take, or io.EOF at the end of the stream.
func readEvents(from io.Reader, take func([]byte) error) error {
	r := bufio.NewReader(from)
	var data []byte
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return err // ignores an incomplete event
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if data != nil {
				if err := take(data); err != nil {
					return err
				}
			}
			data = nil
			continue
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); string(name) == "data" {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
			if data == nil {
				data = []byte{}
			}
		}
	}
}
