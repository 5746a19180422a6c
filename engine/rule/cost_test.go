package rule

import (
	"runtime"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host/hosttest"
)

// TestCannotSwell: a stranger's rule that makes much of little is cut off
// before the memory is taken, whichever function does it.
func TestCannotSwell(t *testing.T) {
	const bound = 256 << 20
	h := hosttest.New(
		t,
		"-- root/etc/a --\n"+strings.Repeat(
			"a",
			200000,
		)+"\n-- root/etc/b --\n"+strings.Repeat(
			"b ",
			200000,
		)+"\n-- root/etc/c --\n"+strings.Repeat(
			"\n",
			200000,
		),
	)
	for name, when := range map[string]string{
		"replace":            `f.text.replace("a", f.text.substring(0, 10000)) == ""`,
		"replace, nothing":   `f.text.replace("", f.text.substring(0, 10000)) == ""`,
		"replace, by steps":  `"a".replace("a", "aaaaaaaaaaaaaaaa")` + strings.Repeat(`.replace("a", "aaaaaaaaaaaaaaaa")`, 7) + ` == ""`,
		"join":               `c.lines.join(f.text) == ""`,
		"join of made lists": `c.lines.map(x, f.text).join("") == ""`,
		"split": `(f.text + f.text + f.text + f.text + f.text + f.text + f.text + f.text + f.text + f.text + ` +
			`f.text).split("").size() == 0`,
		"splits":   `c.lines.map(x, b.text.split(" ")).size() == 0`,
		"fields":   `c.lines.map(x, b.text.fields()).size() == 0`,
		"lines":    `c.lines.map(x, c.text.lines()).size() == 0`,
		"sorted":   `c.lines.map(x, c.lines.sorted()).size() == 0`,
		"distinct": `c.lines.map(x, c.lines.distinct()).size() == 0`,
		"plus":     `c.lines.map(x, f.text + f.text).size() == 0`,
		"lists":    `c.lines.map(x, c.lines + c.lines).size() == 0`,
		"upper":    `c.lines.map(x, f.text.upper()).size() == 0`,
		"capture":  `c.lines.map(x, f.text.capture("(?P<a>(a*)*)(b*)*(c*)*$")).size() == 0`,
	} {
		r := with(t, "  f: {file: /etc/a}\n  b: {file: /etc/b}\n  c: {file: /etc/c}\n", "'"+when+"'", "")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o := outcome(t, r, h)
		runtime.ReadMemStats(&after)
		// On a slow machine time may run out first: as bounded.
		if o.Status != trap.Unknown || !strings.Contains(o.Reason, "costs too much") && !strings.Contains(o.Reason, "took too long") {
			t.Errorf("%s: %v %s", name, o.Status, o.Reason)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > bound {
			t.Errorf("%s: took %d MiB", name, made>>20)
		} else {
			t.Logf("%s: %d MiB", name, made>>20)
		}
	}
}
