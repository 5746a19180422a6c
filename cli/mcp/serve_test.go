package mcp

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/internal/means"
)

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	greeted = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	call    = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"no-such-tool","arguments":{}}}` + "\n"
	token   = "0123456789abcdef0123456789abcdef"
)

// serving is fettle-mcp while it runs, with a fettle that does nothing.
type serving struct {
	stop      func()
	in        *io.PipeWriter
	out, errs means.Said
	ended     chan int
}

func start(t *testing.T, args ...string) *serving {
	t.Helper()
	fettle := file(t, "fettle", "#!/bin/sh\n", 0o755)
	in, w := io.Pipe()
	s := &serving{in: w, ended: make(chan int, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = cancel
	p := &program{App: &app.App{Program: Name, Stdin: in, Stdout: &s.out, Stderr: &s.errs}}
	go func() {
		s.ended <- p.Execute(ctx, append([]string{"--fettle", fettle}, args...), p.root)
		in.Close() // nobody waits to be read
	}()
	t.Cleanup(func() { cancel(); w.Close() })
	return s
}

// say is what the client says.
func (s *serving) say(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(s.in, text); err != nil {
		t.Fatalf("it does not listen: %v; it said %q", err, s.errs.String())
	}
}

// end waits for its exit status.
func (s *serving) end(t *testing.T) int {
	t.Helper()
	select {
	case code := <-s.ended:
		return code
	case <-time.After(means.Patience):
		t.Fatalf("it has not ended; it said %q and %q", s.out.String(), s.errs.String())
	}
	return -1
}

func file(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return name
}

// waits for what comes soon or never.
func waits(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited 5 seconds for %s", what)
		}
	}
}

// TestOneClientOnStandardInput: it is answered until it closes its end, which is no failure; calls are in the audit.
func TestOneClientOnStandardInput(t *testing.T) {
	audit := filepath.Join(t.TempDir(), "audit")
	for _, args := range [][]string{nil, {"--audit", audit}} {
		s := start(t, args...)
		s.say(t, hello+greeted+call)
		waits(t, "two answers", func() bool { return strings.Count(s.out.String(), "\n") == 2 })
		s.in.Close()
		if code := s.end(t); code != 0 || !strings.Contains(s.out.String(), `"protocolVersion":"2025-06-18"`) {
			t.Errorf("%q: status %d, said %q and %q", args, code, s.out.String(), s.errs.String())
		}
		said := s.errs.String()
		if args != nil {
			if said != "" {
				t.Errorf("besides the audit it says %q", said)
			}
			b, err := os.ReadFile(audit)
			if err != nil {
				t.Fatal(err)
			}
			said = string(b)
			if st, err := os.Stat(audit); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("the audit: %v, %v", st, err)
			}
		}
		if strings.Count(said, "\n") != 1 || !strings.Contains(said, "no-such-tool") || !strings.Contains(said, "stdio") {
			t.Errorf("%q: the audit is %q", args, said)
		}
	}
	for fd, to := range means.OpenFiles(t) {
		if to == audit {
			t.Errorf("the audit is still open, as %s", fd)
		}
	}
}

func TestInterruptedOnStandardInput(t *testing.T) {
	s := start(t)
	s.say(t, hello)
	waits(t, "an answer", func() bool { return strings.Count(s.out.String(), "\n") == 1 })
	s.stop()
	if code := s.end(t); code != 0 || s.errs.String() != "" {
		t.Errorf("status %d, said %q", code, s.errs.String())
	}
}

// TestStandardInputThatBreaks ends it with a failure.
func TestStandardInputThatBreaks(t *testing.T) {
	s := start(t)
	s.in.CloseWithError(os.ErrDeadlineExceeded)
	if code := s.end(t); code != 3 || !strings.Contains(s.errs.String(), "timeout") {
		t.Errorf("status %d, said %q", code, s.errs.String())
	}
}

// TestHTTP: who has the token is served, at names of the loopback, until it is interrupted.
func TestHTTP(t *testing.T) {
	secret := file(t, "token", token+"\n", 0o600)
	for _, listen := range []string{"127.0.0.1:0", "localhost:0"} {
		s := start(t, "--listen", listen, "--token-file", secret)
		at := regexp.MustCompile(`^fettle-mcp: serving (http://[0-9.:\[\]]+/)\n`)
		waits(t, "its address", func() bool { return at.MatchString(s.errs.String()) })
		url := at.FindStringSubmatch(s.errs.String())[1]
		post := func(auth string) (int, string) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(hello))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", auth)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			b, _ := io.ReadAll(res.Body)
			return res.StatusCode, string(b)
		}
		if code, text := post("Bearer " + token); code != 200 || !strings.Contains(text, "2025-06-18") {
			t.Errorf("%s: %d, %s", listen, code, text)
		}
		if code, _ := post("Bearer x" + token); code != 401 {
			t.Errorf("%s: with another token %d", listen, code)
		}
		s.stop()
		if code := s.end(t); code != 0 {
			t.Errorf("%s: status %d, said %q", listen, code, s.errs.String())
		}
		if _, err := http.Get(url); err == nil {
			t.Errorf("%s is still served", url)
		}
		taken := start(t, "--listen", "192.0.2.1:0", "--token-file", secret)
		if code := taken.end(t); code != 2 {
			t.Errorf("status %d, said %q", code, taken.errs.String())
		}
	}
	s := start(t, "--listen", "127.0.0.1:99999", "--token-file", secret)
	if code := s.end(t); code != 3 || !strings.Contains(s.errs.String(), "99999") {
		t.Errorf("a port that is none: %d, %q", code, s.errs.String())
	}
}

// TestGoodFlags begin to serve.
func TestGoodFlags(t *testing.T) {
	secret, dir := file(t, "token", "x", 0o600), t.TempDir()
	capture := file(t, "web1.tar.zst", "", 0o644)
	for _, args := range [][]string{
		{"--allow-host", "root@web1,web2"}, {"--allow-path", dir + "," + capture}, {"--hub", "https://hub/", "--hub-token-file", secret},
		{"--hub", "http://127.0.0.1:80", "--hub-token-file", secret}, {"--hub", "http://[::1]:80", "--hub-token-file", secret},
		{"--hub", "http://localhost:80", "--hub-token-file", secret},
	} {
		s := start(t, args...)
		s.say(t, hello)
		waits(t, "an answer", func() bool { return s.out.String() != "" || s.errs.String() != "" })
		s.in.Close()
		if code := s.end(t); code != 0 {
			t.Errorf("%q: status %d, said %q", args, code, s.errs.String())
		}
	}
}

// TestRefusalsNameFlagAndFile, and what to do.
func TestRefusalsNameFlagAndFile(t *testing.T) {
	open, words := file(t, "open", token, 0o644), file(t, "words", "two words, and more than 32 letters", 0o600)
	short, long := file(t, "short", token[:31], 0o600), file(t, "long", strings.Repeat("x", 5000), 0o600)
	script := file(t, "script", "", 0o644)
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "127.0.0.1:0", "--token-file", open}, "--token-file " + open + ": others may read it: chmod 600 " + open},
		{[]string{"--listen", "127.0.0.1:0", "--token-file", words}, "--token-file " + words +
			": expected one word of at least 32 characters: openssl rand -hex 32 > " + words},
		{[]string{"--listen", "127.0.0.1:0", "--token-file", short}, "expected one word of at least 32 characters"},
		{[]string{"--listen", "127.0.0.1:0", "--token-file", long}, "--token-file: " + long + " is larger than"},
		{[]string{"--listen", "127.0.0.1:0", "--token-file", dir + "/none"}, "--token-file: "},
		{[]string{"--listen", "127.0.0.1", "--token-file", words}, "--listen \"127.0.0.1\": expected an address of the loopback"},
		{[]string{"--listen", "example.org:80", "--token-file", words}, "expected an address of the loopback"},
		{[]string{"--hub", "http://hub", "--hub-token-file", open}, "--hub-token-file " + open + ": others may read it"},
		{[]string{"--hub", "https://hub", "--hub-token-file", dir + "/none"}, "--hub-token-file: "},
		{[]string{"--hub", "http://127.0.0.1.example.org", "--hub-token-file", words}, "expected one word of at least 1 characters"},
		{[]string{"--hub-token-file", words}, "belong together"},
		{[]string{"--fettle", dir}, "--fettle " + dir + ": expected the program fettle"},
		{[]string{"--fettle", script}, "expected the program fettle"},
		{[]string{"--allow-host", "a,"}, `--allow-host "": expected the name of a host`}, {[]string{"--allow-path", "."}, "absolute path"},
		{[]string{"--allow-path", "/dev/null"}, "absolute path"}, {[]string{"--audit", dir}, "--audit: "},
	} {
		s := start(t, c.args...)
		code := s.end(t)
		if said := strings.Join(strings.Fields(s.errs.String()), " "); code != 2 || !strings.Contains(said, c.want) || s.out.String() != "" {
			t.Errorf("%q: status %d, said %q; want %q", c.args, code, said, c.want)
		}
	}
}
