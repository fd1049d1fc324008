package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"duplex/schemas"
)

// peers are the servers that the venue is held against. None has a venue behind it:
// nothing is matched, nobody's money is looked at, nothing reaches a disk.
var peers = map[string]func() http.Handler{
	"net/http": plain,
	"mcp-go":   markThree,

	"shared-batch": sharedBatch,
}

func peerNames() []string { return slices.Sorted(maps.Keys(peers)) }

func servePeer(ctx context.Context, name string) error {
	h, ok := peers[name]
	if !ok {
		return fmt.Errorf("no peer %s", name)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, l.Addr())
	s := &http.Server{Handler: h()}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	_ = s.Serve(l) // ends by Close
	return nil
}

var peerSecret = []byte("0123456789abcdef0123456789abcdef")

// order is what the plain peer decodes, and placed what it answers: by encoding/json,
// with as many members as an order has that says all there is to it.
type order struct {
	ClientOrderID string `json:"client_order_id"`
	MarketID      uint32 `json:"market_id"`
	Side          string `json:"side"`
	Outcome       string `json:"outcome"`
	Type          string `json:"type"`
	Tick          int    `json:"tick"`
	Qty           int    `json:"qty"`
	TIF           string `json:"tif"`
}

type placed struct {
	OrderID       string `json:"order_id"`
	ClientOrderID string `json:"client_order_id"`
	Seq           int64  `json:"seq"`
	MarketID      uint32 `json:"market_id"`
	Status        string `json:"status"`
	Tick          int    `json:"tick"`
	Qty           int    `json:"qty"`
	FilledQty     int    `json:"filled_qty"`
	RestingQty    int    `json:"resting_qty"`
	Fills         []fill `json:"fills"`
}

type fill struct {
	Tick int   `json:"tick"`
	Qty  int   `json:"qty"`
	Seq  int64 `json:"seq"`
}

func (o *order) valid() bool {
	return o.Tick >= 1 && o.Tick <= 9999 && o.Qty >= 1 && (o.Side == "buy" || o.Side == "sell") && (o.Outcome == "yes" || o.Outcome == "no")
}

// signed reads a body and tells whether its signature holds, with what the standard
// library has.
func signed(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	m := hmac.New(sha256.New, peerSecret)
	io.WriteString(m, r.Header.Get(schemas.HeaderTimestamp)+"\n"+r.Method+"\n"+r.RequestURI+"\n")
	m.Write(body)
	want := base64.StdEncoding.EncodeToString(m.Sum(nil))
	if err != nil || !hmac.Equal([]byte(want), []byte(r.Header.Get(schemas.HeaderSignature))) {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return nil, false
	}
	return body, true
}

// plain is net/http that verifies the signature, decodes the order, checks its
// fields and writes an outcome; of a read it writes the bytes that were put there.
func plain() http.Handler {
	var reads sync.Map // target → []byte
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /", func(w http.ResponseWriter, r *http.Request) {
		if body, ok := signed(w, r); ok {
			reads.Store(r.RequestURI, body)
		}
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := signed(w, r); !ok {
			return
		}
		text, _ := reads.Load(r.RequestURI)
		b, _ := text.([]byte) // none: the loader sees that it is short
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(b))}
		_, _ = w.Write(b) // the loader counts what it does not get
	})
	mux.HandleFunc("POST /v1/portfolio/orders", func(w http.ResponseWriter, r *http.Request) {
		body, ok := signed(w, r)
		if !ok {
			return
		}
		var o order
		if err := json.Unmarshal(body, &o); err != nil || !o.valid() {
			http.Error(w, "bad order", http.StatusUnprocessableEntity)
			return
		}
		b, err := json.Marshal(placed{"1234567", o.ClientOrderID, 1234567, o.MarketID, "resting", o.Tick, o.Qty, 0, o.Qty, []fill{}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = w.Write(b) // the loader counts what it does not get
	})
	return mux
}

const (
	placedText  = `{"order_id":"1234567","client_order_id":"1000001","status":"resting","seq":"1234567","filled_qty":0,"resting_qty":10,"fills":[]}`
	balanceText = `{"cash":"1000000000000","reserved":"0","as_of_seq":"1234567"}`
)

// markThree is the fastest MCP server library known, with the same two tools, and
// answers that are written already.
func markThree() http.Handler {
	s := server.NewMCPServer("peer", "1")
	s.AddTool(mcp.NewTool("place_order", mcp.WithString("client_order_id"), mcp.WithNumber("market_id"), mcp.WithString("side"), mcp.WithString("outcome"), mcp.WithNumber("tick"), mcp.WithNumber("qty")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(placedText), nil
		})
	s.AddTool(mcp.NewTool("get_balance"),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(balanceText), nil
		})
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true), server.WithEndpointPath("/v1/mcp"))
}
