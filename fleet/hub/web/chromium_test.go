package web

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle/internal/means"
)

// chromium is a real one without a window, driven by the DevTools protocol
// over a pipe: messages of JSON, each ended by a NUL.
type chromium struct {
	t       testing.TB
	in      *os.File
	session string

	mu      sync.Mutex
	n       int
	waiting map[int]chan reply
	said    []string // on the console, and what failed
	loaded  chan struct{}
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

func newChromium(t testing.TB) *chromium {
	t.Helper()
	program := means.Tool(t, "chromium")
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(
		program,
		"--headless",
		"--remote-debugging-pipe",
		"--no-sandbox",
		"--disable-gpu",
		"--disable-quic",
		"--no-first-run",
		"--disable-background-networking",
		"--disable-component-update",
		"--disable-sync",
		"--disable-extensions",
		"--hide-scrollbars",
		"--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(),
		"about:blank",
	)
	cmd.ExtraFiles = []*os.File{theirs, theirOut} // 3 and 4
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	theirOut.Close()
	c := &chromium{t: t, in: in, waiting: map[int]chan reply{}, loaded: make(chan struct{}, 10)}
	go c.listen(out)
	t.Cleanup(func() {
		in.Close()
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(means.Patience):
			cmd.Process.Kill()
			<-ended
		}
		out.Close()
		if t.Failed() {
			t.Logf("chromium said:\n%.2000s", stderr.String())
		}
	})
	var target struct{ TargetID string }
	c.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	c.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	c.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		c.do(domain+".enable", nil, nil)
	}
	return c
}

// listen takes replies and events.
func (c *chromium) listen(out *os.File) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		b, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			reply
		}
		if err := json.Unmarshal(b[:len(b)-1], &m); err != nil {
			c.note("unreadable: " + err.Error())
			continue
		}
		if m.ID != 0 {
			c.mu.Lock()
			ch := c.waiting[m.ID]
			delete(c.waiting, m.ID)
			c.mu.Unlock()
			if ch != nil {
				ch <- m.reply
			}
			continue
		}
		c.event(m.Method, m.Params)
	}
}

func (c *chromium) event(method string, params json.RawMessage) {
	switch method {
	case "Page.loadEventFired":
		select {
		case c.loaded <- struct{}{}:
		default:
		}
	case "Runtime.exceptionThrown":
		c.note("exception: " + string(params))
	case "Runtime.consoleAPICalled":
		c.note("console: " + string(params))
	case "Log.entryAdded":
		var p struct {
			Entry struct{ Level, Text, URL string }
		}
		if json.Unmarshal(params, &p) == nil && p.Entry.Level != "verbose" {
			c.note(p.Entry.Level + ": " + p.Entry.Text + " " + p.Entry.URL)
		}
	}
}

func (c *chromium) note(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, s)
}

// complaints are what the console said since they were last asked for.
func (c *chromium) complaints() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.said
	c.said = nil
	return out
}

func (c *chromium) do(method string, params, into any) {
	c.t.Helper()
	ch := make(chan reply, 1)
	c.mu.Lock()
	c.n++
	id := c.n
	c.waiting[id] = ch
	c.mu.Unlock()
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if c.session != "" {
		m["sessionId"] = c.session
	}
	b, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(b, 0)); err != nil {
		c.t.Fatal("chromium:", err)
	}
	select {
	case r := <-ch:
		if r.Error != nil {
			c.t.Fatalf("%s: %s", method, r.Error.Message)
		}
		if into != nil {
			if err := json.Unmarshal(r.Result, into); err != nil {
				c.t.Fatal(err)
			}
		}
	case <-time.After(60 * time.Second):
		c.t.Fatalf("chromium does not answer %s", method)
	}
}

// open goes to a page and waits until it is loaded.
func (c *chromium) open(url string) {
	c.t.Helper()
	c.drain()
	c.do("Page.navigate", map[string]any{"url": url}, nil)
	c.wait()
}

func (c *chromium) drain() {
	for {
		select {
		case <-c.loaded:
		default:
			return
		}
	}
}

func (c *chromium) wait() {
	c.t.Helper()
	select {
	case <-c.loaded:
	case <-time.After(60 * time.Second):
		c.t.Fatal("the page does not load")
	}
}

// js is the value of an expression, a promise's too, as JSON text.
func (c *chromium) js(expression string) string {
	c.t.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	c.do(
		"Runtime.evaluate",
		map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true},
		&out,
	)
	if out.ExceptionDetails != nil {
		c.t.Fatalf("%.200s: %s", expression, out.ExceptionDetails)
	}
	return string(out.Result.Value)
}

// until waits for an expression to become true.
func (c *chromium) until(what, expression string) {
	c.t.Helper()
	for range 300 {
		if c.js(expression) == "true" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Errorf("%s: %s is never true; at %s", what, expression, c.js("location.href"))
}

// key presses a key.
func (c *chromium) key(k string) {
	c.t.Helper()
	p := map[string]any{"type": "keyDown", "key": k}
	switch {
	case len(k) == 1:
		p["text"] = k
	case k == "Enter":
		p["text"], p["windowsVirtualKeyCode"], p["code"] = "\r", 13, "Enter"
	case k == "Tab":
		p["windowsVirtualKeyCode"], p["code"] = 9, "Tab"
	case k == "Escape":
		p["windowsVirtualKeyCode"], p["code"] = 27, "Escape"
	}
	c.do("Input.dispatchKeyEvent", p, nil)
	c.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": k}, nil)
}

func (c *chromium) write(s string) {
	c.t.Helper()
	c.do("Input.insertText", map[string]any{"text": s}, nil)
}

// look sets the width of the window and the theme that the desktop prefers.
func (c *chromium) look(width int, theme string) {
	c.t.Helper()
	c.do(
		"Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
		nil,
	)
	c.do(
		"Emulation.setEmulatedMedia",
		map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}}},
		nil,
	)
}

// picture writes the whole page to a file.
func (c *chromium) picture(file string) {
	c.t.Helper()
	var out struct{ Data string }
	c.do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &out)
	b, err := base64.StdEncoding.DecodeString(out.Data)
	if err == nil {
		err = os.WriteFile(file, b, 0o644)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// login logs in by the page's own form.
func (c *chromium) login(base, name string) {
	c.t.Helper()
	c.open(base + "/login")
	c.js("document.querySelector('[name=name]').focus()")
	c.write(name)
	c.key("Tab")
	c.write(password)
	c.drain()
	c.key("Enter")
	c.wait()
	if at := c.js("location.pathname"); at != `"/"` {
		c.t.Fatalf("the log-in leads to %s: %s", at, c.js("document.body.innerText"))
	}
}

// clean complains of what the console said.
func (c *chromium) clean(where string) {
	c.t.Helper()
	for _, s := range c.complaints() {
		c.t.Errorf("%s: %s", where, s)
	}
}

// slug names a picture by a page's path.
func slug(path string) string {
	s := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(path))
	return fmt.Sprintf("%.60s", "page"+s)
}
