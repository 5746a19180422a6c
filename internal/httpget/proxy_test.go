package httpget

import (
	"bufio"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle/internal/means"
)

// proxy is a real one on loopback, which notes what it is asked. Whatever the name, it
// leads to the two servers behind it.
type proxy struct {
	address string
	login   string // USER:PASSWORD that it wants; empty: none

	mu    sync.Mutex
	asked []string
}

func newProxy(t *testing.T, plain, secure string) *proxy {
	p := &proxy{}
	p.address = means.Serve(t, func(c net.Conn) { p.serve(c, plain, secure) })
	return p
}

func (p *proxy) serve(c net.Conn, plain, secure string) {
	in := bufio.NewReader(c)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	p.mu.Lock()
	login, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Proxy-Authorization"), "Basic "))
	p.asked = append(p.asked, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+string(login)))
	wanted := p.login
	p.mu.Unlock()
	if wanted != "" && string(login) != wanted {
		fmt.Fprint(c, "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
		return
	}
	to := plain
	if r.Method == "CONNECT" {
		to = secure
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	if r.Method == "CONNECT" {
		fmt.Fprint(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		go io.Copy(server, in)
	} else {
		r.Header.Del("Proxy-Authorization")
		r.Write(server)
	}
	io.Copy(c, server)
}

func (p *proxy) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.asked = nil }()
	return p.asked
}

// TestProxyAsCurl: for each environment and URL, the proxy is asked the same by fettle
// and by curl.
func TestProxyAsCurl(t *testing.T) {
	curl := means.Tool(t, "curl")
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s", r.Host, r.URL) })
	plain, secured := httptest.NewServer(mux), httptest.NewTLSServer(mux)
	defer plain.Close()
	defer secured.Close()
	pool := x509.NewCertPool()
	pool.AddCert(secured.Certificate())
	p := newProxy(t, plain.Listener.Addr().String(), secured.Listener.Addr().String())

	const viaHTTP, viaHTTPS = "http_proxy=http://P", "https_proxy=http://P"
	const web, tls = "http://www.corp.invalid/a?b=c", "https://example.com/a"
	for name, c := range map[string]struct {
		env   []string // P is the proxy's address
		url   string
		login string
		asked string // by both; empty: they go straight to the host
		body  string
		curl  string // where curl does something else: what
	}{
		"http":             {env: []string{viaHTTP}, url: web, asked: "GET " + web, body: "www.corp.invalid /a?b=c"},
		"no scheme":        {env: []string{"http_proxy=P"}, url: web, asked: "GET " + web},
		"slash at the end": {env: []string{"http_proxy=http://P/"}, url: web, asked: "GET " + web},
		"port": {env: []string{viaHTTP}, url: "http://www.corp.invalid:8080/",
			asked: "GET http://www.corp.invalid:8080/"},
		"https":                  {env: []string{viaHTTPS}, url: tls, asked: "CONNECT example.com:443", body: "example.com /a"},
		"https, port":            {env: []string{viaHTTPS}, url: "https://example.com:8443/", asked: "CONNECT example.com:8443"},
		"HTTPS_PROXY":            {env: []string{"HTTPS_PROXY=http://P"}, url: tls, asked: "CONNECT example.com:443"},
		"the other scheme's":     {env: []string{viaHTTP}, url: "https://www.corp.invalid/"},
		"the other scheme's too": {env: []string{viaHTTPS}, url: web},
		"login": {env: []string{"http_proxy=http://me:s%40crt@P"}, url: web, login: "me:s@crt",
			asked: "GET " + web + " me:s@crt"},
		"login, https": {env: []string{"https_proxy=http://me:s%40crt@P"}, url: tls, login: "me:s@crt",
			asked: "CONNECT example.com:443 me:s@crt"},
		"name alone":              {env: []string{"http_proxy=http://me@P"}, url: web, asked: "GET " + web + " me:"},
		"no_proxy":                {env: []string{viaHTTP, "no_proxy=www.corp.invalid"}, url: web},
		"NO_PROXY":                {env: []string{viaHTTP, "NO_PROXY=www.corp.invalid"}, url: web},
		"domain":                  {env: []string{viaHTTP, "no_proxy=corp.invalid"}, url: web},
		"domain, dot":             {env: []string{viaHTTP, "no_proxy=.corp.invalid"}, url: web},
		"only the end of a label": {env: []string{viaHTTP, "no_proxy=orp.invalid"}, url: web, asked: "GET " + web},
		"list":                    {env: []string{viaHTTP, "no_proxy=a.invalid, corp.invalid,b.invalid"}, url: web},
		"upper case":              {env: []string{viaHTTP, "no_proxy=CORP.Invalid"}, url: web},
		"star":                    {env: []string{viaHTTP, "no_proxy=*"}, url: web},
		"address":                 {env: []string{viaHTTP, "no_proxy=192.0.2.1"}, url: "http://192.0.2.1/"},
		"another address": {env: []string{viaHTTP, "no_proxy=192.0.2.1"}, url: "http://192.0.2.11/",
			asked: "GET http://192.0.2.11/"},
		"network": {env: []string{viaHTTP, "no_proxy=192.0.2.0/28"}, url: "http://192.0.2.1/"},
		"outside of it": {env: []string{viaHTTP, "no_proxy=192.0.2.0/28"}, url: "http://192.0.2.99/",
			asked: "GET http://192.0.2.99/"},
		"IPv6": {env: []string{viaHTTP, "no_proxy=2001:db8::/32"}, url: "http://[2001:db9::1]/",
			asked: "GET http://[2001:db9::1]/"},
		"this host": {env: []string{viaHTTP}, url: plain.URL + "/", body: strings.TrimPrefix(plain.URL, "http://") + " /",
			curl: "asks the proxy for this host's own addresses too"},
		"domain's own name": {env: []string{viaHTTP, "no_proxy=.www.corp.invalid"}, url: web, asked: "GET " + web,
			curl: "takes .www.corp.invalid for that name too, not only for what is below it"},
		"port in no_proxy": {env: []string{viaHTTP, "no_proxy=www.corp.invalid:80"}, url: web,
			curl: "knows no ports in no_proxy"},
		"HTTP_PROXY": {env: []string{"HTTP_PROXY=http://P"}, url: web,
			asked: "GET " + web, curl: "reads http_proxy in lower case only"},
		"all_proxy": {env: []string{"all_proxy=http://P"}, url: web, curl: "reads all_proxy too"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []string{"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
				"ALL_PROXY"} {
				t.Setenv(v, "")
				os.Unsetenv(v)
			}
			for _, e := range c.env {
				k, v, _ := strings.Cut(strings.NewReplacer("//P", "//"+p.address, "=P", "="+p.address, "@P", "@"+p.address).Replace(e), "=")
				t.Setenv(k, v)
			}
			p.mu.Lock()
			p.login = c.login
			p.mu.Unlock()
			p.heard()
			res, err := Get(t.Context(), c.url, Options{Stall: 500 * time.Millisecond, Roots: pool})
			if err == nil {
				b, _ := all(res.Body)
				res.Body.Close()
				if c.body != "" && string(b) != c.body {
					t.Errorf("body %q", b)
				}
			} else if c.asked != "" || c.body != "" {
				t.Error(err)
			}
			if ours := strings.Join(p.heard(), "; "); ours != c.asked {
				t.Errorf("fettle asked the proxy %q, want %q", ours, c.asked)
			}
			exec.Command(curl, "-sk", "--max-time", "2", "--connect-timeout", "0.5", "-o", "/dev/null", c.url).Run()
			theirs := p.heard()
			if i := slices.Index(theirs, c.asked); (len(theirs) == 1 && i == 0 || len(theirs) == 0 && c.asked == "") != (c.curl == "") {
				t.Errorf("curl asked %q, fettle %q (known difference: %q)", theirs, c.asked, c.curl)
			}
		})
	}
}

// TestProxyRefuses: what a proxy does not do is told with its name and what to do.
func TestProxyRefuses(t *testing.T) {
	p := newProxy(t, "127.0.0.1:1", "127.0.0.1:1")
	p.login = "me:secret"
	for _, c := range []struct{ env, value, url, want string }{
		{"http_proxy", "http://" + p.address, "http://www.corp.invalid/",
			"through the proxy " + p.address + ": it wants a login: set http_proxy to"},
		{"https_proxy", "http://me:wrong@" + p.address, "https://www.corp.invalid/",
			"it wants a login: set https_proxy to http://USER:PASSWORD@"},
		{"https_proxy", "socks5://127.0.0.1:1080", "https://www.corp.invalid/", "is of a kind that fettle does not speak"},
		{"http_proxy", "http://127.0.0.1:1", "http://www.corp.invalid/", "through the proxy 127.0.0.1:1: dial tcp"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Setenv(c.env, c.value)
			_, err := Get(t.Context(), c.url, Options{Stall: 2 * time.Second})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("said %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "wrong") {
				t.Errorf("the password is told: %v", err)
			}
		})
	}
}

// TestBrokenProxyVariables: one that cannot be read does not let the request out past
// the proxy, or to another host, and its password is not told. What no_proxy names
// needs none.
func TestBrokenProxyVariables(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, value := range []string{"http://me:wrong%zz@proxy.invalid:3128", "http://me:wrong @proxy.invalid:3128", "http://:3128", "//",
		"http://me:wrong@proxy.invalid:99999999", "http://me:wrong\x1b@proxy.invalid", "me:wrong%@proxy.invalid:1", "http://[::1", "http:///x"} {
		t.Run(value, func(t *testing.T) {
			t.Setenv("http_proxy", value)
			t.Setenv("https_proxy", value)
			for _, u := range []string{"http://www.corp.invalid/", "https://www.corp.invalid/"} {
				_, err := Get(t.Context(), u, Options{Stall: 2 * time.Second})
				if err == nil || !strings.Contains(err.Error(), "_proxy names no proxy") || strings.Contains(err.Error(), "wrong") {
					t.Errorf("%s: said %v", u, err)
				}
			}
			t.Setenv("no_proxy", "127.0.0.1")
			r, err := Get(t.Context(), "http://127.0.0.1:"+port+"/", Options{Stall: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
		})
	}
}
