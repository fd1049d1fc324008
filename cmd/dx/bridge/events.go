package bridge

import (
	"bufio"
	"bytes"
	"io"
)

// events reads server-sent events and gives the data of each to take, until the
// stream ends, which is io.EOF, or take fails.
func events(from io.Reader, take func([]byte) error) error {
	r := bufio.NewReader(from)
	var data []byte
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return err // an event that is not whole does not count
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
