package main

import (
	"net"
	"net/http"
	"sync"

	"github.com/gobwas/ws"
)

// sharedBatchPeer broadcasts a message of about 200 bytes per byte received on /publish. It
// encodes the frame once, gives each reader a queue, and drains a queue into one write. With
// one socket per reader this is the upper bound.
func sharedBatchPeer() http.Handler {
	frame := ws.MustCompileFrame(ws.NewTextFrame([]byte(`{"type":"orderbook_delta","sid":1,"seq":"123456","prev_seq":"123455","msg":{"market_id":3,"generation":1,"changes":(("outcome":"yes","tick":1000,"delta":10,"qty":10)),"pad":"^"}}`)))
	b := &batcher{frame: frame, readers: map[chan struct{}]struct{}{}}
	m := http.NewServeMux()
	m.HandleFunc("/read", b.read)
	m.HandleFunc("/publish", b.publish)
	return m
}

type batcher struct {
	frame   []byte
	mu      sync.Mutex
	readers map[chan struct{}]struct{}
}

func (b *batcher) publish(w http.ResponseWriter, _ *http.Request) {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	for {
		if _, err := rw.ReadByte(); err != nil {
			return
		}
		b.mu.Lock()
		for q := range b.readers {
			q <- struct{}{}
		}
		b.mu.Unlock()
	}
}

func (b *batcher) read(w http.ResponseWriter, r *http.Request) {
	c, _, _, err := ws.UpgradeHTTP(r, w)
	if err != nil {
		return
	}
	defer c.Close()
	q := make(chan struct{}, 64)
	b.mu.Lock()
	b.readers[q] = struct{}{}
	b.mu.Unlock()
	gone := make(chan struct{})
	go waitClosed(c, gone)
	defer b.leave(q)
	buf := make([]byte, 0, 64*len(b.frame))
	for {
		select {
		case <-q:
		case <-gone:
			return
		}
		buf = append(buf[:0], b.frame...)
		for more := true; more; {
			select {
			case <-q:
				buf = append(buf, b.frame...)
			default:
				more = false
			}
		}
		if _, err := c.Write(buf); err != nil {
			return
		}
	}
}

// leave removes a queue. It drains the queue meanwhile, so that publish does not block.
func (b *batcher) leave(q chan struct{}) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-q:
			case <-done:
				return
			}
		}
	}()
	b.mu.Lock()
	delete(b.readers, q)
	b.mu.Unlock()
	close(done)
}

// waitClosed closes gone when the connection ends.
func waitClosed(c net.Conn, gone chan<- struct{}) {
	defer close(gone)
	var b [64]byte
	for {
		if _, err := c.Read(b[:]); err != nil {
			return
		}
	}
}
