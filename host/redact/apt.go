package redact

import (
	"strings"

	"fettle/internal/lazy"
)

// aptConf reads apt.conf(5) line by line: settings are in settings, and values go on.
type aptConf struct {
	r      *Redactor
	in     []string // the settings whose braces are open; "" for braces without one
	key    string   // of the value that follows, with those around it
	quoted bool     // in a value
}

var (
	aptToken = lazy.Regexp(`^(?://.*|"[^"]*"?|[{};]|[^\s"{};]+|\s+)`)
	aptOwn   = lazy.Regexp(`(?i)^(?:Proxy|ProxyAutoDetect|Proxy-Auto-Detect|Timeout|Pipeline-Depth|Dl-Limit|User-Agent|No-Cache|` +
		`No-Store|Max-Age|AllowRedirect|Verify-\w+|CaInfo|CaPath|SslCert|SslKey|SslForceVersion|IssuerCert|CrlFile|` +
		`ForceIPv\d|SendAccept|ProxyLogin|Passive|ForceExtended)$`)
	aptServers = lazy.Regexp(`(?i)^acquire::(?:https?|ftp)(?:::proxy)?$`)
)

func (r *Redactor) aptLines() func(string) string {
	c := &aptConf{r: r}
	return c.line
}

func (c *aptConf) line(s string) string {
	var b strings.Builder
	if c.quoted {
		end := strings.IndexByte(s, '"') + 1
		if end == 0 {
			return c.r.opaque(s)
		}
		c.quoted = false
		b.WriteString(c.r.opaque(s[:end]))
		s = s[end:]
	}
	for s != "" {
		tok := aptToken().FindString(s)
		if tok == "" {
			tok = s[:1]
		}
		b.WriteString(c.token(tok))
		s = s[len(tok):]
	}
	return b.String()
}

func (c *aptConf) token(tok string) string {
	switch tok[0] {
	case ' ', '\t', '\r':
		return tok
	case '/':
		if strings.HasPrefix(tok, "//") {
			return ""
		}
	case '{':
		c.in = append(c.in, c.key)
		return tok
	case '}':
		c.in = c.in[:max(0, len(c.in)-1)]
		c.key = c.outer()
		return tok
	case ';':
		c.key = c.outer()
		return tok
	case '"':
		c.quoted = len(tok) == 1 || !strings.HasSuffix(tok, `"`)
		return c.value(tok)
	}
	return c.name(tok)
}

// longestKey is how much of a setting's name is kept with those around it: none of apt's is longer.
const longestKey = 500

// outer is the setting whose braces are open.
func (c *aptConf) outer() string {
	if len(c.in) == 0 {
		return ""
	}
	return c.in[len(c.in)-1]
}

// name redacts a setting's name: below those of servers, servers.
func (c *aptConf) name(tok string) string {
	above := c.outer()
	if len(above) > longestKey {
		above = ""
	}
	parts := strings.Split(tok, "::")
	for i, p := range parts {
		whole := p
		if above != "" && p != "" {
			whole = above + "::" + p
		}
		if p != "" && aptServers().MatchString(above) && !aptOwn().MatchString(p) {
			parts[i] = c.r.hostAt(p)
		} else {
			parts[i] = c.r.free(p)
		}
		if p != "" {
			above = whole
		}
	}
	c.key = above
	return strings.Join(parts, "::")
}

// value redacts what a setting is set to.
func (c *aptConf) value(tok string) string {
	low := strings.ToLower(c.key)
	last := c.key[strings.LastIndexByte(c.key, ':')+1:]
	switch {
	case strings.Contains(low, "invoke"), strings.Contains(low, "install-pkgs"), strings.Contains(low, "detect"):
		return c.r.quotedCommand(tok, 1)
	case c.key == "", strings.HasPrefix(low, "apt::periodic::owner"), strings.Contains(low, "user"), c.r.Text(c.key) != c.key:
		return eachWord(tok, c.r.argument)
	}
	return c.r.value(last, tok)
}
