package assistant

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxBody bounds a request, in bytes.
const maxBody = 4 << 20

// Handler serves streamable HTTP to whoever knows the token. A page in a browser on this machine
// gets nothing, whatever name it was led here by: Host and Origin must name the loopback.
func Handler(s *mcp.Server, token string) http.Handler {
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{SessionTimeout: time.Hour})
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		switch origins := r.Header.Values("Origin"); {
		case !loopback(r.Host):
			http.Error(w, "Host must name the loopback", http.StatusForbidden)
		case len(origins) > 1 || len(origins) == 1 && !fromLoopback(origins[0]):
			http.Error(w, "Origin must name the loopback", http.StatusForbidden)
		case !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") || subtle.ConstantTimeCompare(given[:], want[:]) != 1:
			w.Header().Set("WWW-Authenticate", `Bearer realm="fettle-mcp"`)
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			awaited(inner).ServeHTTP(w, r)
		}
	})
}

// Server is an HTTP server with limits.
func Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 64 << 10}
}

func fromLoopback(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && loopback(u.Host)
}

// loopback tells whether host[:port] is this machine's loopback by name or address.
func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
