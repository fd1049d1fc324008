package arena

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestLateAnswerIsWhole checks that an answer that comes late is as long, and has the header, as without the fault.
func TestLateAnswerIsWhole(t *testing.T) {
	s := &seedRun{turns: newTurns(0, 0, time.Minute, nil)}
	s.turns.stop()
	want, answer := bytes.Repeat([]byte("x"), recordMax+1), httptest.NewRecorder()
	serve := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(want)
	}
	s.withFault(&recorder{ResponseWriter: answer}, httptest.NewRequest("GET", "/", nil), nil, &seat{}, &fault{name: lateAnswer, value: 1}, serve, &callRow{})
	if answer.Code != http.StatusAccepted || answer.Header().Get("Content-Type") != "text/csv" || !bytes.Equal(answer.Body.Bytes(), want) {
		t.Errorf("status %d, header %v, %d of %d bytes", answer.Code, answer.Header(), answer.Body.Len(), len(want))
	}
}
