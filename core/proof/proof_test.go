package proof

import (
	"bytes"
	"testing"
)

func TestTry(t *testing.T) {
	dir := journalDir(t)
	for n := uint64(1); n < 12; n++ {
		var out bytes.Buffer
		err := Write(&out, dir, n, nil)
		t.Logf("%d: %v", n, err)
		if err == nil {
			r, err := Check(&out)
			t.Logf("%+v %v", r, err)
		}
	}
}
