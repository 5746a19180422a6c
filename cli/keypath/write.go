package keypath

import (
	"fmt"
	"io"
	"strings"
	"time"

	"fettle/internal/files"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/tools/keypath"
	"fettle/tools/keypath/draw"
)

// write writes the answer in the format, to the file, asked for.
func (v *verb) write(a answer) error {
	out := v.Stdout
	var file strings.Builder
	if v.output != "" && v.output != "-" {
		out = &file
	}
	var err error
	switch v.format {
	case "json":
		err = jsondoc.Encode(out, answerJSON(a), "  ")
	case "svg":
		err = draw.SVG(out, picture(a))
	case "dot":
		err = draw.DOT(out, picture(a))
	default:
		_, err = io.WriteString(out, v.text(a))
	}
	if err == nil && file.Len() > 0 {
		if err := files.WriteFile(v.output, []byte(file.String()), 0o644); err != nil {
			return v.Usagef("-o: %w", err)
		}
	}
	return err
}

func (v *verb) json(x any) error { return jsondoc.Encode(v.Stdout, x, "  ") }

func picture(a answer) draw.Picture {
	node := func(k keypath.Key) draw.Node {
		return draw.Node{ID: fmt.Sprintf("%016X", a.w.Fingerprint(k).ID()), Name: ui.Visible(a.w.FirstName(k))}
	}
	p := draw.Picture{Title: ui.Visible("From " + a.w.FirstName(a.paths[0][0].From) + " to " + a.w.FirstName(a.ask.To))}
	for _, path := range a.paths {
		r := draw.Row{Keys: []draw.Node{node(path[0].From)}}
		for _, h := range path {
			r.Keys = append(r.Keys, node(h.To))
			r.Hops = append(r.Hops, h.Made.UTC().Format(time.DateOnly)+", "+h.Hash.String())
		}
		p.Rows = append(p.Rows, r)
	}
	return p
}

type keyJSON struct {
	Fingerprint string `json:"fingerprint"`
	UserID      string `json:"user_id"`
}

type hopJSON struct {
	From    keyJSON  `json:"from"`
	To      keyJSON  `json:"to"`
	UserID  string   `json:"over_user_id,omitempty"`
	Type    int      `json:"signature_type,omitempty"`
	Hash    string   `json:"hash,omitempty"`
	Made    string   `json:"made,omitempty"`
	Expires string   `json:"expires,omitempty"`
	Valid   bool     `json:"valid"`
	Against []string `json:"against"`
}

type pathsJSON struct {
	From  []keyJSON   `json:"from"`
	To    keyJSON     `json:"to"`
	Tally any         `json:"read"`
	Paths [][]hopJSON `json:"paths"`
}

func answerJSON(a answer) pathsJSON {
	key := func(k keypath.Key) keyJSON { return keyJSON{a.w.Fingerprint(k).String(), a.w.FirstName(k)} }
	out := pathsJSON{To: key(a.ask.To), Tally: a.w.Tally, Paths: [][]hopJSON{}}
	for _, r := range a.ask.Roots {
		out.From = append(out.From, key(r.Key))
	}
	for _, p := range a.paths {
		hops := []hopJSON{}
		for _, h := range p {
			j := hopJSON{From: key(h.From), To: key(h.To), Valid: h.Valid(), Against: append([]string{}, h.Against...)}
			if h.Valid() {
				j.UserID, j.Type, j.Hash, j.Made = h.Name, int(h.Type), h.Hash.String(), h.Made.UTC().Format(time.RFC3339)
				if !h.Expires.IsZero() {
					j.Expires = h.Expires.UTC().Format(time.RFC3339)
				}
			}
			hops = append(hops, j)
		}
		out.Paths = append(out.Paths, hops)
	}
	return out
}
