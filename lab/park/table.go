package park

import (
	"fmt"
	"strings"
)

// Row is one look at one host.
type Row struct {
	Host, Look              string
	Lines                   int // of fettle check's text; 0 where it was not run as text
	Found, Unknown, Cleared int
}

// Table is the rows as Markdown.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| host | looked at as | lines | findings | unknown | clear |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		lines := "-"
		if r.Lines > 0 {
			lines = fmt.Sprint(r.Lines)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %d |\n", r.Host, r.Look, lines, r.Found, r.Unknown, r.Cleared)
	}
	return b.String()
}

func row(host, look string, all []Outcome) Row {
	return Row{Host: host, Look: look, Found: count(all, "found"), Unknown: count(all, "unknown"), Cleared: count(all, "clear")}
}
