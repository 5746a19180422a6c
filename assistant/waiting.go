package assistant

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The protocol's library lets calls go on when their client is gone (go-sdk 1.8, jsonrpc2: a
// connection that was closed waits for its handlers). Nobody waits for what they find out, and a host
// is not busied for nobody.

// waiting are the requests over HTTP that somebody waits for, by the number in their header.
var (
	waiting sync.Map // string: context.Context
	numbers atomic.Int64
)

const numberHeader = "Fettle-Request"

// awaited notes, while a request is answered, that somebody waits for it.
func awaited(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := strconv.FormatInt(numbers.Add(1), 10)
		r.Header.Set(numberHeader, n)
		waiting.Store(n, r.Context())
		defer waiting.Delete(n)
		h.ServeHTTP(w, r)
	})
}

// waited is a context that ends with the call, and with its client.
func (d *desk) waited(ctx context.Context, req *mcp.CallToolRequest) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	var client context.Context
	if d.Alive != nil {
		client = d.Alive
	} else if req.Extra != nil && req.Extra.Header != nil {
		if c, ok := waiting.Load(req.Extra.Header.Get(numberHeader)); ok {
			client, _ = c.(context.Context)
		}
	}
	if client == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(client, cancel)
	return ctx, func() { stop(); cancel() }
}
