package httpget

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// proxyOf is the proxy for a URL, by http_proxy, https_proxy and no_proxy as Go's
// net/http and, but for this host's own addresses, curl read them; nil: none. A
// variable that names no proxy is an error: net/http would go without one, past
// whatever the admin wants all to pass.
func proxyOf(u *url.URL) (*url.URL, error) {
	set := httpproxy.FromEnvironment()
	value := map[string]string{"http": set.HTTPProxy, "https": set.HTTPSProxy}[u.Scheme]
	if value != "" && !isProxy(value) {
		set.HTTPProxy, set.HTTPSProxy = "http://proxy.invalid", "http://proxy.invalid"
		if p, err := set.ProxyFunc()(u); p == nil && err == nil { // no_proxy
			return nil, nil
		}
		// The value is not told: it can have a password.
		return nil, fmt.Errorf("%s_proxy names no proxy: expected http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT, "+
			"with %%XX for special characters; correct it or unset it", u.Scheme)
	}
	p, err := set.ProxyFunc()(u)
	if err != nil {
		return nil, fmt.Errorf("the proxy for %s in %s_proxy: %w", u.Host, u.Scheme, err)
	}
	if p != nil && p.Scheme != "http" && p.Scheme != "https" {
		return nil, fmt.Errorf("the proxy %s in %s_proxy is of a kind that fettle does not speak: set one as http://HOST:PORT",
			p.Redacted(), u.Scheme)
	}
	return p, nil
}

// isProxy tells whether a variable names a proxy: HOST:PORT, or a URL.
func isProxy(value string) bool {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" || strings.ContainsAny(u.Hostname(), " @/") {
		return false
	}
	if u.Port() == "" {
		return true
	}
	_, err = strconv.ParseUint(u.Port(), 10, 16)
	return err == nil
}

// authority is a URL's host and port.
func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// credentials is the header field for a proxy's userinfo (RFC 7617), or nothing.
func credentials(proxy *url.URL) string {
	if proxy == nil || proxy.User == nil {
		return ""
	}
	password, _ := proxy.User.Password()
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(proxy.User.Username()+":"+password)) + "\r\n"
}

// dial connects to a URL's host, or to its proxy.
func dial(ctx context.Context, u, proxy *url.URL, o Options) (net.Conn, error) {
	first := u
	if proxy != nil {
		first = proxy
	}
	connect := o.Dial
	if connect == nil {
		connect = (&net.Dialer{Timeout: o.Stall}).DialContext
	}
	conn, err := connect(ctx, "tcp", authority(first))
	if err != nil {
		return nil, through(proxy, err)
	}
	if proxy != nil && proxy.Scheme == "https" {
		if conn, err = secure(ctx, conn, proxy.Hostname(), o); err != nil {
			return nil, through(proxy, err)
		}
	}
	if u.Scheme == "http" {
		return conn, nil
	}
	if proxy != nil {
		if err := tunnel(ctx, conn, u, proxy, o); err != nil {
			conn.Close()
			return nil, through(proxy, err)
		}
	}
	return secure(ctx, conn, u.Hostname(), o)
}

func through(proxy *url.URL, err error) error {
	if proxy == nil {
		return err
	}
	return fmt.Errorf("through the proxy %s: %w", proxy.Host, err)
}

// secure begins TLS; what fails is closed.
func secure(ctx context.Context, conn net.Conn, name string, o Options) (net.Conn, error) {
	t := tls.Client(conn, &tls.Config{ServerName: name, RootCAs: o.Roots, MinVersion: tls.VersionTLS12})
	shake, cancel := context.WithTimeout(ctx, o.Stall)
	defer cancel()
	if err := t.HandshakeContext(shake); err != nil {
		conn.Close()
		return nil, err
	}
	return t, nil
}

// tunnel asks a proxy for a connection to a URL's host (RFC 9110, section 9.3.6).
func tunnel(ctx context.Context, conn net.Conn, u, proxy *url.URL, o Options) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.SetDeadline(time.Now().Add(o.Stall))
	defer conn.SetDeadline(time.Time{})
	to := authority(u)
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: fettle\r\n%s\r\n", to, to, credentials(proxy)); err != nil {
		return err
	}
	r := bufio.NewReader(conn)
	h, err := header(r)
	switch {
	case err != nil:
		return err
	case h.status == 407:
		return fmt.Errorf("it wants a login: set %s_proxy to http://USER:PASSWORD@%s", u.Scheme, proxy.Host)
	case h.status > 299:
		return fmt.Errorf("it refuses a connection to %s: %d %.60s", to, h.status, h.reason)
	case r.Buffered() > 0:
		return fmt.Errorf("it answers for %s", to) // a server speaks TLS only when spoken to
	}
	return nil
}
