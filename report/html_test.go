package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"fettle/engine/trap"
)

// TestHTMLIsInert: whatever hosts, traps and lore are called, the page has the
// elements and attributes that fettle writes, nothing that runs, and nothing
// from elsewhere.
func TestHTMLIsInert(t *testing.T) {
	evil := `"><script>alert(1)</script><img src=x ` +
		`onerror=alert(1)> </style><a href="javascript:x">` + "`<b>`" + ` [x](javascript:y) <https://e.example/"onx=1> **<i>**`
	lore := trap.Lore(
		"---\nid: evil\ntitle: \"" + strings.ReplaceAll(
			evil,
			`"`,
			`'`,
		) + "\"\n---\n# " + evil + "\n\n" + evil + "\n\n- " + evil + "\n\n    " + evil +
			"\n\n```\n" + evil + "\n```\n\n| " + evil + " | b |\n|---|---|\n| c | " + evil + " |\n",
	)
	var b bytes.Buffer
	w, err := New("html", &b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := run.meta
	m.Host, m.Version, m.Machine.Distribution = evil, evil, evil
	say := func(status trap.Status, subject string) trap.Outcome {
		return trap.Outcome{
			Trap:     "evil",
			Subject:  subject,
			Status:   status,
			Severity: trap.Critical,
			Summary:  evil,
			Detail:   trap.Prose(evil),
			Reason:   evil,
			ByHand:   evil,
			Evidence: []trap.Evidence{{Source: evil, Value: evil}},
		}
	}
	if err := w.Begin(m, []*trap.Trap{{Lore: lore}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Result(trap.Result{Trap: "evil",
		Outcomes: []trap.Outcome{say(trap.Found, evil), say(trap.Found, ""), say(trap.Unknown, evil+"2"), say(trap.Clear, evil),
			say(trap.NotApplicable, evil)},
		Resolved: []trap.Resolved{{Subject: evil, Said: evil}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.End(run.took); err != nil {
		t.Fatal(err)
	}
	elements := strings.Fields(
		"html head meta title style body h1 h2 h3 h4 p ul li article span pre details summary dl dt dd table tr td th code strong em br footer",
	)
	z := html.NewTokenizer(&b)
	for {
		tt := z.Next()
		if tt == html.ErrorToken {
			break
		}
		tok := z.Token()
		switch tt {
		case html.CommentToken:
			t.Errorf("a comment: %s", tok.Data)
		case html.StartTagToken, html.SelfClosingTagToken:
			if !slices.Contains(elements, tok.Data) {
				t.Errorf("element %s", tok)
			}
			for _, a := range tok.Attr {
				switch {
				case a.Key == "class" && len(a.Val) < 20, tok.Data == "meta", tok.Data == "html" && a.Key == "lang":
				default:
					t.Errorf("attribute %s of %s", a.Key, tok.Data)
				}
			}
		}
	}
}

// TestHTMLParses: every element that is opened is closed, and in order.
func TestHTMLParses(t *testing.T) {
	b := write(t, "html", Options{})
	z := html.NewTokenizer(bytes.NewReader(b))
	var open []string
	for {
		tt := z.Next()
		if tt == html.ErrorToken {
			break
		}
		name, _ := z.TagName()
		switch {
		case tt == html.StartTagToken && !slices.Contains([]string{"meta", "br"}, string(name)):
			open = append(open, string(name))
		case tt == html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("</%s> closes %v", name, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) != 0 {
		t.Errorf("left open: %v", open)
	}
	for _, never := range []string{"<script", "http://", "src=", "href=", "onclick"} {
		if bytes.Contains(b, []byte(never)) {
			t.Errorf("the page has %s", never)
		}
	}
}
