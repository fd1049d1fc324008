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

// peerHandlers holds the servers that the venue is compared with. They only parse and answer:
// no matching, no accounts, no disk.
var peerHandlers = map[string]func() http.Handler{
	"net/http": netHTTPPeer,
	"mcp-go":   mcpGoPeer,

	"shared-batch": sharedBatchPeer,
}

func peerNames() []string { return slices.Sorted(maps.Keys(peerHandlers)) }

func servePeer(ctx context.Context, name string) error {
	h, ok := peerHandlers[name]
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

// order is the request that the net/http peer decodes with encoding/json.
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

type peerOutcome struct {
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

// readVerified reads a body and verifies its signature with the standard library. It answers
// the request and returns false if the signature is invalid.
func readVerified(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
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

// netHTTPPeer is a net/http server. For a placement it verifies the signature, decodes and
// checks the order and writes an outcome. For a GET it returns the bytes of the last PUT.
func netHTTPPeer() http.Handler {
	var reads sync.Map // target → []byte
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /", func(w http.ResponseWriter, r *http.Request) {
		if body, ok := readVerified(w, r); ok {
			reads.Store(r.RequestURI, body)
		}
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := readVerified(w, r); !ok {
			return
		}
		text, _ := reads.Load(r.RequestURI)
		b, _ := text.([]byte) // empty if there was no PUT; the loader reports it
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(b))}
		_, _ = w.Write(b) // the loader reports missing answers
	})
	mux.HandleFunc("POST /v1/portfolio/orders", func(w http.ResponseWriter, r *http.Request) {
		body, ok := readVerified(w, r)
		if !ok {
			return
		}
		var o order
		if err := json.Unmarshal(body, &o); err != nil || !o.valid() {
			http.Error(w, "bad order", http.StatusUnprocessableEntity)
			return
		}
		b, err := json.Marshal(peerOutcome{"1234567", o.ClientOrderID, 1234567, o.MarketID, "resting", o.Tick, o.Qty, 0, o.Qty, []fill{}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = w.Write(b) // the loader reports missing answers
	})
	return mux
}

const (
	placedBody  = `{"order_id":"1234567","client_order_id":"1000001","status":"resting","seq":"1234567","filled_qty":0,"resting_qty":10,"fills":[]}`
	balanceBody = `{"cash":"1000000000000","reserved":"0","as_of_seq":"1234567"}`
)

// mcpGoPeer is the fastest known MCP server library, with the same two tools and constant
// answers.
func mcpGoPeer() http.Handler {
	s := server.NewMCPServer("peer", "1")
	s.AddTool(mcp.NewTool("place_order", mcp.WithString("client_order_id"), mcp.WithNumber("market_id"), mcp.WithString("side"), mcp.WithString("outcome"), mcp.WithNumber("tick"), mcp.WithNumber("qty")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(placedBody), nil
		})
	s.AddTool(mcp.NewTool("get_balance"),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(balanceBody), nil
		})
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true), server.WithEndpointPath("/v1/mcp"))
}
