// Package exposition writes metrics in Prometheus' text format, version 0.0.4.
package exposition

import (
	"fmt"
	"strconv"
	"strings"

	"fettle/internal/ui"
)

// Text is a page of metrics. Its zero value is empty.
type Text struct {
	b    strings.Builder
	name string // of the family that is being written
}

// Gauge begins the family of a value that goes up and down.
func (t *Text) Gauge(name, help string) { t.family(name, "gauge", help) }

// Counter begins the family of a value that only grows.
func (t *Text) Counter(name, help string) { t.family(name, "counter", help) }

func (t *Text) family(name, kind, help string) {
	t.name = name
	fmt.Fprintf(&t.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// Number is what a metric can be.
type Number interface {
	~int | ~int64 | ~uint64 | ~float64 | ~bool
}

// Add writes a value of the family that was begun last; a bool is 0 or 1. labels
// are names, each with its value after it.
func Add[N Number](t *Text, value N, labels ...string) {
	t.b.WriteString(t.name)
	for i := 0; i+1 < len(labels); i += 2 {
		open := ","
		if i == 0 {
			open = "{"
		}
		t.b.WriteString(open + labels[i] + "=" + label(labels[i+1]))
	}
	if len(labels) > 1 {
		t.b.WriteByte('}')
	}
	t.b.WriteString(" " + number(value) + "\n")
}

func number(value any) string {
	switch v := value.(type) {
	case bool:
		if v {
			return "1"
		}
		return "0"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// String is the page so far.
func (t *Text) String() string { return t.b.String() }

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// label quotes a label's value. Label values are UTF-8: other bytes become
// U+FFFD, and what a terminal would act on is written out.
func label(s string) string {
	return `"` + escape.Replace(ui.Visible(strings.ToValidUTF8(s, "\uFFFD"))) + `"`
}
