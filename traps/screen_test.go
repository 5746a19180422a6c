package traps

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
	"fettle/report"
)

// hostResults are what one host's checks said.
type hostResults struct {
	name    string
	results []trap.Result
	long    bool // a host of many findings, which may take more than a screen
}

// folders are those of the traps with code, by id.
var folders = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	lores, _ := filepath.Glob("*/lore.md")
	for _, name := range lores {
		b, _ := os.ReadFile(name)
		if id := regexp.MustCompile(`(?m)^id: (.+)$`).FindSubmatch(b); id != nil {
			out[string(id[1])] = filepath.Dir(name)
		}
	}
	return out
})

// goldenFiles are the golden hosts of a trap.
func goldenFiles(t *testing.T, tr *trap.Trap) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{filepath.Join(folders()[tr.ID()], "testdata", "*.txtar"),
		filepath.Join("rules", tr.ID(), "*.txtar")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Errorf("no golden host of %s was found", tr.ID())
	}
	return files
}

// goldenResults are each golden host with its own trap, and hosts that have the findings
// of a dozen of them.
func goldenResults(t *testing.T) []hostResults {
	var out []hostResults
	worst := map[string]trap.Result{}
	for _, tr := range All() {
		for _, name := range goldenFiles(t, tr) {
			src, _ := hosttest.Load(t, name)
			r := trap.Result{Trap: tr.ID(), Outcomes: traptest.Run(t, tr, host.New(src))}
			out = append(out, hostResults{name, []trap.Result{r}, false})
			if len(founds(r)) > len(founds(worst[tr.ID()])) {
				worst[tr.ID()] = r
			}
		}
	}
	var many []trap.Result
	for _, tr := range All() {
		if r, ok := worst[tr.ID()]; ok {
			many = append(many, r)
		}
	}
	for some := range slices.Chunk(many, 12) {
		out = append(out, hostResults{"findings of " + some[0].Trap + " and 11 more", some, true})
	}
	return out
}

func founds(r trap.Result) []trap.Outcome {
	var out []trap.Outcome
	for _, o := range r.Outcomes {
		if o.Status == trap.Found {
			out = append(out, o)
		}
	}
	return out
}

// whole is all that fettle knows, put together once.
var whole = sync.OnceValue(All)

// written is a host's report in a format. Of those that say what every trap is, one says it of the host's.
func written(t *testing.T, format string, h hostResults) string {
	var b bytes.Buffer
	w, err := report.New(format, &b, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := whole()
	if format != "text" {
		of = slices.DeleteFunc(slices.Clone(of), func(tr *trap.Trap) bool {
			return !slices.ContainsFunc(h.results, func(r trap.Result) bool { return r.Trap == tr.ID() })
		})
	}
	if err := w.Begin(report.Meta{Host: "web1", Kind: host.KindLive, Started: time.Unix(1780000000, 0)}, of); err != nil {
		t.Fatal(err)
	}
	for _, r := range h.results {
		if err := w.Result(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(time.Second); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var label = regexp.MustCompile(`^(CRITICAL|WARNING|NOTICE|UNKNOWN) +(.*)`)

// TestOneScreen: whatever the golden hosts have, a reader sees it on a screen of 80
// columns, an entry for each cause, what is unknown once and last, and no sentence cut.
func TestOneScreen(t *testing.T) {
	for _, h := range goldenResults(t) {
		text := written(t, "text", h)
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if most := map[bool]int{false: 24, true: 40}[h.long]; len(lines) > most {
			t.Errorf("%s: %d lines, more than %d:\n%s", h.name, len(lines), most, text)
		}
		entries := map[string]int{}
		unknown, last := 0, ""
		for _, line := range lines {
			copied := strings.HasPrefix(strings.TrimLeft(line, " "), "fix: ") || strings.Contains(line, "sudo fettle") ||
				strings.HasPrefix(line, "          fettle ")
			if n := utf8.RuneCountInString(line); n > 80 && !copied && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s: %d columns: %s", h.name, n, line)
			}
			if m := label.FindStringSubmatch(line); m != nil {
				entries[m[1]+" "+m[2]]++
				if last = m[1]; last == "UNKNOWN" {
					unknown++
				}
			}
		}
		for e, n := range entries {
			if n > 1 && strings.Contains(e, ": ") {
				t.Errorf("%s: %d entries begin %q", h.name, n, e)
			}
		}
		if unknown > 1 || unknown == 1 && last != "UNKNOWN" {
			t.Errorf("%s: what is unknown is no paragraph at the end:\n%s", h.name, text)
		}
		for _, dots := range []string{"…", "..."} {
			if strings.Contains(text, dots) && !h.says(dots) {
				t.Errorf("%s: something is cut:\n%s", h.name, text)
			}
		}
	}
}

// says tells whether an outcome has these characters by itself.
func (h hostResults) says(s string) bool {
	return strings.Contains(fmt.Sprintf("%+v", h.results), s)
}

// TestOneOrder: every format that is not a stream begins with the worst, and Nagios's
// line fits into what NRPE carries.
func TestOneOrder(t *testing.T) {
	means.Short(t, "takes seconds")
	severities := []string{"notice", "warning", "critical"}
	text := regexp.MustCompile(`(?m)^(CRITICAL|WARNING|NOTICE) `)
	nagios := regexp.MustCompile(`\b(critical|warning|notice) [a-z0-9-]+`)
	html := regexp.MustCompile(`<article class="(critical|warning|notice)">`)
	for _, h := range goldenResults(t) {
		orders := map[string][]string{}
		for _, m := range text.FindAllStringSubmatch(written(t, "text", h), -1) {
			orders["text"] = append(orders["text"], strings.ToLower(m[1]))
		}
		said := written(t, "nagios", h)
		line, _, _ := strings.Cut(said, " | ")
		_, names, _ := strings.Cut(line, ": ")
		for _, m := range nagios.FindAllStringSubmatch(names, -1) {
			orders["nagios"] = append(orders["nagios"], m[1])
		}
		if len(said) > 1024 {
			t.Errorf("%s: nagios: %d bytes", h.name, len(said))
		}
		for _, m := range html.FindAllStringSubmatch(written(t, "html", h), -1) {
			orders["html"] = append(orders["html"], m[1])
		}
		var doc struct {
			Results []struct {
				Outcomes []struct{ Status, Severity string }
			}
		}
		if err := json.Unmarshal([]byte(written(t, "json", h)), &doc); err != nil {
			t.Fatal(err)
		}
		for _, r := range doc.Results {
			// A trap stands where its worst finding does.
			most := -1
			for _, o := range r.Outcomes {
				most = max(most, slices.Index(severities, o.Severity))
			}
			if most >= 0 {
				orders["json"] = append(orders["json"], severities[most])
			}
		}
		var log struct {
			Runs []struct {
				Results []struct{ Kind, Level string }
			}
		}
		if err := json.Unmarshal([]byte(written(t, "sarif", h)), &log); err != nil {
			t.Fatal(err)
		}
		for _, r := range log.Runs[0].Results {
			if level := slices.Index([]string{"note", "warning", "error"}, r.Level); r.Kind == "fail" && level >= 0 {
				orders["sarif"] = append(orders["sarif"], severities[level])
			}
		}
		rows, err := csv.NewReader(strings.NewReader(written(t, "csv", h))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		column := slices.Index(rows[0], "severity")
		for _, row := range rows[1:] {
			if row[column] != "" {
				orders["csv"] = append(orders["csv"], row[column])
			}
		}
		for format, order := range orders {
			if !slices.IsSortedFunc(order, func(a, b string) int { return slices.Index(severities, b) - slices.Index(severities, a) }) {
				t.Errorf("%s: %s: %s", h.name, format, order)
			}
		}
		var any bool
		for _, r := range h.results {
			any = any || len(founds(r)) > 0
		}
		for _, format := range []string{"text", "nagios", "html", "json", "sarif", "csv"} {
			if any && len(orders[format]) == 0 {
				t.Errorf("%s: %s: no finding is told", h.name, format)
			}
		}
	}
}
