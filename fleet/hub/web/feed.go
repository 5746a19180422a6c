package web

import (
	"encoding/xml"
	"net/http"
	"strings"
	"time"

	"fettle/fleet/hub/api"
	"fettle/internal/ui"
)

// atom is a feed, RFC 4287.
type atom struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Links   []atomLink  `xml:"link"`
	Author  atomAuthor  `xml:"author"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type atomAuthor struct {
	Name string `xml:"name"`
}

type atomEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Summary string   `xml:"summary"`
}

// feed is the changes of /changes with the same filters.
func (s *site) feed(w http.ResponseWriter, r *http.Request) {
	q, err := ask[api.ChangesQuery](r)
	var list api.Changes
	if err == nil {
		list, err = s.api.Changes(acting(r), q)
	}
	if err != nil {
		status, said := api.Problem(err)
		http.Error(w, said, status)
		return
	}
	base := strings.TrimSuffix(s.cfg.URL, "/")
	self := base + r.URL.RequestURI()
	f := atom{ID: self, Title: "fettle: changes", Updated: s.cfg.Now().UTC().Format(time.RFC3339), Author: atomAuthor{"fettle hub"},
		Links: []atomLink{{"self", self}, {"alternate", base + "/changes?" + r.URL.RawQuery}}}
	if q.Trap != "" {
		f.Title += " of " + ui.Visible(q.Trap)
	}
	for i, c := range list.Changes {
		at := c.At.UTC().Format(time.RFC3339)
		if i == 0 {
			f.Updated = at
		}
		what := c.Trap
		if c.Subject != "" {
			what += " (" + clip(c.Subject, 80) + ")"
		}
		f.Entries = append(f.Entries, atomEntry{
			ID:    "urn:fettle:change:" + c.Host.Agent + ":" + itoa(c.ID),
			Title: ui.Visible(kindWord(c.Kind) + ": " + what + " on " + c.Host.Name), Updated: at,
			Link:    atomLink{"alternate", base + hostPage(c.Host.Agent)},
			Summary: ui.Visible(c.Severity + ": " + c.Summary),
		})
	}
	w.Header().Set("Content-Type", "application/atom+xml; charset=utf-8")
	b, err := xml.MarshalIndent(f, "", " ")
	if err != nil {
		http.Error(w, "the hub could not make the feed", http.StatusInternalServerError)
		return
	}
	w.Write([]byte(xml.Header))
	w.Write(b)
}

// kindWord is a kind of change for people.
func kindWord(kind string) string {
	switch kind {
	case "returned":
		return "came back"
	case "seen":
		return "can be seen again"
	case "unseen":
		return "cannot be seen"
	}
	return kind
}
