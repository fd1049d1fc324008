package arena

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"sync"
	"time"
	"unicode/utf8"
)

// callRow is one line of a trajectory: a call of a seat and its answer. Times named ts are of venue
// time. Headers are never recorded, so a trajectory has no signature.
type callRow struct {
	Ts      int64           `json:"ts,string"`      // when the call was admitted, ns
	Done    int64           `json:"done_ts,string"` // when it was answered, ns
	Wall    int64           `json:"wall_ms"`        // since the begin of the run, when it was answered
	Thought int64           `json:"thought_us"`     // time that the seat took before the call
	Method  string          `json:"method"`
	Target  string          `json:"target"`
	Tool    string          `json:"tool,omitempty"`
	Fault   string          `json:"fault,omitempty"` // that the arena brought about
	Status  int             `json:"status"`          // 0: no answer
	Ended   bool            `json:"ended,omitempty"` // by the end of the run or the process, or the close of the connection: its error is no rejection
	Body    json.RawMessage `json:"body,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	Bytes   int             `json:"bytes"` // of the answer
}

// trajectory writes the calls of one seat to a file. Its methods are safe for concurrent use.
type trajectory struct {
	begun  time.Time
	secret []byte // of the seat's key, in hex

	mu   sync.Mutex
	file *os.File
	out  *bufio.Writer
	err  error
}

func newTrajectory(path, secret string) (*trajectory, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &trajectory{begun: time.Now(), secret: []byte(secret), file: f, out: bufio.NewWriterSize(f, 1<<16)}, nil
}

func (t *trajectory) add(r *callRow) {
	r.Wall, r.Bytes = time.Since(t.begun).Milliseconds(), max(r.Bytes, len(r.Answer))
	b, err := json.Marshal(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		_, err = t.out.Write(append(t.hide(b), '\n'))
	}
	if t.err == nil {
		t.err = err
	}
}

// hide removes the seat's secret from what an agent has sent or printed.
func (t *trajectory) hide(b []byte) []byte {
	if len(t.secret) > 0 {
		b = bytes.ReplaceAll(b, t.secret, []byte("(secret)"))
		b = bytes.ReplaceAll(b, bytes.ToUpper(t.secret), []byte("(secret)"))
	}
	return b
}

func (t *trajectory) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.err, t.out.Flush(), t.file.Close())
}

// rowsIn yields the rows of a trajectory, and ends with an error that names the line.
func rowsIn(path string) iter.Seq2[callRow, error] {
	return func(yield func(callRow, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(callRow{}, err)
			return
		}
		defer f.Close()
		lines, n := bufio.NewScanner(f), 1
		lines.Buffer(make([]byte, 1<<16), 4<<20)
		for ; lines.Scan(); n++ {
			var r callRow
			if err = json.Unmarshal(lines.Bytes(), &r); err != nil {
				break
			}
			if !yield(r, nil) {
				return
			}
		}
		if err = cmp.Or(err, lines.Err()); err != nil {
			yield(callRow{}, fmt.Errorf("%s, line %d: %w", path, n, err))
		}
	}
}

// asJSON returns bytes as JSON: as they are if they are a JSON value, else as a string.
func asJSON(b []byte) json.RawMessage {
	switch {
	case len(b) == 0:
		return nil
	case json.Valid(b):
		return b
	case !utf8.Valid(b):
		b = []byte("(not text)")
	}
	out, _ := json.Marshal(string(b))
	return out
}
