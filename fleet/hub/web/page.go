package web

import (
	"bytes"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fettle/fleet/hub/api"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/web/login"
	"fettle/internal/ui"
	"fettle/internal/units"
)

// page is what a template is given.
type page struct {
	Title    string
	Here     string // the entry of the bar
	Query    string // of the search
	Curves   bool   // loads uPlot
	Feeds    []link
	Error    string
	Done     string
	Data     any
	template string
	redirect string

	// Set by write.
	Nav        []link
	Visitor    login.Visitor
	Theme      string
	OtherTheme string
	Self       string // this page's path and query
	Version    string
	Now        time.Time
	Page       login.Page
}

type link struct{ Title, Href string }

var nav = []link{
	{"Fleet", "/"},
	{"Changes", "/changes"},
	{"Traps", "/traps"},
	{"Hosts", "/hosts"},
	{"Restarts", "/restarts"},
	{"Unknowns", "/coverage"},
	{"Compare", "/compare"},
	{"Paste", "/paste"},
}

// show serves a page, or says why there is none.
func (s *site) show(make func(*http.Request) (*page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := make(r)
		if err == nil && p.redirect != "" {
			http.Redirect(w, r, p.redirect, http.StatusSeeOther)
			return
		}
		if err == nil {
			s.write(w, r, http.StatusOK, p)
			return
		}
		s.problem(w, r, err)
	}
}

func (s *site) problem(w http.ResponseWriter, r *http.Request, err error) {
	status, said := api.Problem(err)
	title := "That did not work"
	switch status {
	case http.StatusNotFound:
		title = "Not found"
	case http.StatusInternalServerError:
		slog.Error("page", "path", r.URL.Path, "err", err)
	}
	s.write(w, r, status, &page{Title: title, template: "problem", Error: strings.ToUpper(said[:1]) + said[1:] + "."})
}

func (s *site) login(w http.ResponseWriter, r *http.Request, p login.Page) {
	s.write(w, r, p.Status, &page{Title: "Log in", template: "login", Page: p})
}

// write makes a page whole before anything of it is sent.
func (s *site) write(w http.ResponseWriter, r *http.Request, status int, p *page) {
	p.Visitor, p.Nav, p.Version, p.Now, p.Self = login.Who(r.Context()), nav, version(), s.cfg.Now(), r.URL.RequestURI()
	if r.Method != http.MethodGet {
		p.Self = r.URL.Path
	}
	p.OtherTheme = "dark"
	if c, err := r.Cookie("fettle_theme"); err == nil && (c.Value == "dark" || c.Value == "light") {
		p.Theme = c.Value
		p.OtherTheme = map[string]string{"dark": "light", "light": "auto"}[c.Value]
	}
	if c, err := r.Cookie("fettle_done"); err == nil && p.Visitor.Name != "" {
		p.Done = unescape(c.Value)
		http.SetCookie(w, &http.Cookie{Name: "fettle_done", Path: "/", MaxAge: -1})
	}
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, p.template, p); err != nil {
		slog.Error("page", "template", p.template, "err", err)
		http.Error(w, "the hub could not create this page; see its log", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(plain(b.Bytes()))
}

// done leads back to a page, which then says what was done.
func (s *site) done(w http.ResponseWriter, r *http.Request, next, said string) {
	http.SetCookie(
		w,
		&http.Cookie{
			Name:     "fettle_done",
			Value:    url.QueryEscape(said),
			Path:     "/",
			MaxAge:   60,
			HttpOnly: true,
			SameSite: http.SameSiteLaxMode,
			Secure:   s.cfg.Login.Secure,
		},
	)
	http.Redirect(w, r, login.Local(next), http.StatusSeeOther)
}

func unescape(s string) string {
	s, err := url.QueryUnescape(s)
	if err != nil || len(s) > 500 {
		return ""
	}
	return s
}

// plain writes out whatever a page would hide or turn around (control
// characters, bidi overrides), wherever in it they are: names come from hosts.
func plain(b []byte) []byte {
	hidden := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
	if !bytes.ContainsFunc(b, hidden) && utf8.Valid(b) {
		return b
	}
	var out bytes.Buffer
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if hidden(r) || r == utf8.RuneError && n == 1 {
			out.WriteString(ui.Visible(string(b[:n])))
		} else {
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.Bytes()
}

// words are what templates may say.
func (s *site) words() template.FuncMap {
	return template.FuncMap{
		"asset": func(name string) (string, error) {
			a, ok := s.assets[name]
			if !ok {
				return "", errors.New("no asset " + name)
			}
			return a.href, nil
		},
		"ago":   func(t time.Time) string { return ago(s.cfg.Now(), t) },
		"when":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
		"day":   func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"count": count,
		"n":     digits,
		"clip":  func(n int, s string) string { return clip(s, n) },
		"soft":  soft,
		"prose": func(s string) template.HTML { return template.HTML(ui.MarkdownHTML(s, 3)) }, // which escapes

		// known reports whether this hub knows a trap.
		"known": func(id string) bool { return s.api.Title(id) != "" },
		// first are the first of a list, and more is how many others there are.
		"first": func(n int, list any) any {
			v := reflect.ValueOf(list)
			return v.Slice(0, min(n, v.Len())).Interface()
		},
		"more": func(n int, list any) int { return max(0, reflect.ValueOf(list).Len()-n) },
		// table is a list of hosts, with boxes to choose some.
		"table": func(list []*store.Host, pick bool) map[string]any { return map[string]any{"List": list, "Pick": pick} },
		"dict": func(pairs ...string) map[string]string {
			m := map[string]string{}
			for i := 0; i+1 < len(pairs); i += 2 {
				m[pairs[i]] = pairs[i+1]
			}
			return m
		},
		"kind":  kindWord,
		"said":  api.Said,
		"worst": api.Worst,
		"query": queryOf,
		// and_ adds a query to one that is there.
		"and_": func(q template.URL) template.URL {
			if q == "" {
				return ""
			}
			return "&" + q
		},
		// A browser changes line ends that it sends back, and plain writes other
		// characters out.
		"encoded": url.QueryEscape,
		"span":    units.Duration,
		"bytes":   units.Size[int64],
		// A clock that is a little off is none to speak of.
		"skewed": func(d time.Duration) bool { return d.Abs() > 2*time.Minute },
	}
}

// queryOf is a query of names and values; empty ones are left out.
func queryOf(pairs ...any) template.URL {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		switch value := pairs[i+1].(type) {
		case string:
			if value != "" {
				v.Set(name, value)
			}
		case int:
			if value != 0 {
				v.Set(name, itoa(int64(value)))
			}
		case int64:
			if value != 0 {
				v.Set(name, itoa(value))
			}
		}
	}
	return template.URL(v.Encode()) // which escapes
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return digits(n) + " " + many
}

// digits groups a number by thousands.
func digits(n int) string {
	s := itoa(int64(n))
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return "never"
	case d < -time.Minute:
		return "in " + units.Duration(-d.Truncate(time.Minute))
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return count(int(d.Minutes()), "minute", "minutes") + " ago"
	case d < 48*time.Hour:
		return count(int(d.Hours()), "hour", "hours") + " ago"
	}
	return count(int(d.Hours()/24), "day", "days") + " ago"
}

func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "…"
}

// soft lets a browser break a long name or path where a reader would: after a dot, a slash and the like, and within what
// has none of them for long.
func soft(s string) template.HTML {
	const least, most = 3, 20 // characters of a part
	var b strings.Builder
	n, left := 0, utf8.RuneCountInString(s)
	for _, r := range s {
		b.WriteString(template.HTMLEscapeString(string(r)))
		n, left = n+1, left-1
		switch {
		case unicode.IsSpace(r):
			n = 0
		case left >= least && (n >= most || n >= least && strings.ContainsRune("/.,:;=@_-", r)):
			b.WriteString("<wbr>")
			n = 0
		}
	}
	return template.HTML(b.String())
}
