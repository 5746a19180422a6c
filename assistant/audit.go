package assistant

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/user"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// audit writes a line for each call: who asked for what, about which host, and how long it took. What
// was asked about stays out: a pasted log may hold secrets.
type audit struct {
	mu        sync.Mutex
	w         io.Writer
	user      string
	transport string
}

func newAudit(c Config) *audit {
	a := &audit{w: c.Audit, transport: c.Transport}
	if u, err := user.Current(); err == nil {
		a.user = u.Username
	}
	return a
}

// entry is a line of the audit.
type entry struct {
	Time      time.Time `json:"time"`
	User      string    `json:"user,omitempty"`
	Transport string    `json:"transport,omitempty"`
	Client    string    `json:"client,omitempty"`
	Method    string    `json:"method"`
	What      string    `json:"what,omitempty"` // the tool, the resource, the prompt
	Host      string    `json:"host,omitempty"` // "this host" where none was named
	Took      string    `json:"took"`
	Outcome   string    `json:"outcome"` // ok, refused, cancelled
}

// audited are the methods that are written down.
var audited = map[string]bool{"tools/call": true, "resources/read": true, "prompts/get": true}

func (a *audit) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if a.w == nil || !audited[method] {
			return next(ctx, method, req)
		}
		began := time.Now()
		res, err := next(ctx, method, req)
		e := entry{Time: began.UTC(), User: a.user, Transport: a.transport, Method: method, Outcome: "ok", Took: time.Since(began).String()}
		e.about(req)
		switch r, _ := res.(*mcp.CallToolResult); {
		case ctx.Err() != nil || errors.Is(err, context.Canceled):
			e.Outcome = "cancelled"
		case err != nil || r != nil && r.IsError:
			e.Outcome = "refused"
		}
		if b, merr := json.Marshal(e); merr == nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			if _, werr := a.w.Write(append(b, '\n')); werr != nil {
				return nil, errors.New("the audit cannot be written: nothing is answered without it")
			}
		}
		return res, err
	}
}

// about says what was asked for.
func (e *entry) about(req mcp.Request) {
	if s, ok := req.GetSession().(*mcp.ServerSession); ok && s != nil {
		if p := s.InitializeParams(); p != nil && p.ClientInfo != nil {
			e.Client = visible(p.ClientInfo.Name+" "+p.ClientInfo.Version, 100)
		}
	}
	switch p := req.GetParams().(type) {
	case *mcp.CallToolParamsRaw:
		e.What, e.Host = visible(p.Name, 100), "this host"
		var t target
		if json.Unmarshal(p.Arguments, &t) == nil {
			for _, v := range []string{t.Host, t.Root, t.Capture} {
				if v != "" {
					e.Host = visible(v, 200)
				}
			}
		}
	case *mcp.ReadResourceParams:
		e.What = visible(p.URI, 200)
	case *mcp.GetPromptParams:
		e.What = visible(p.Name, 100)
	}
}
