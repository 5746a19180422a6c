package proving

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"fettle/cli/app"
)

// Of each instrument a sample of what it prints, and the figure in it. Those with
// a published schema (docs) are held to it.
func TestFigureOfEachInstrument(t *testing.T) {
	samples := map[string]struct{ schema, text, want string }{
		"blockcache": {"", `{"runs": [{"median_iops": 800}, {"median_iops": 4778.5}]}`, "4778.5"},
		"boot":       {"", "1.27 0.80\n", "1.27"},
		"cachesim":   {"", `{"curves": [{"points": [{"miss_ratio": 0.9}]}, {"points": [{"miss_ratio": 0.5}, {"miss_ratio": 0.25}]}]}`, "75"},
		"counters":   {"counters", `{"counters": [{"mean_bits_per_s": 1e9}, {"mean_bits_per_s": 2}]}`, "1e+09"},
		"disks":      {"disks", `{"groups": [{"members": [{"read_ms": 5, "write_ms": 0}, {"read_ms": 4, "write_ms": 17.5}]}]}`, "17.5"},
		"ksm":        {"ksm", `{"runs": [{"saved_bytes": 1}, {"saved_bytes": 209715200}]}`, "209715200"},
		"login":      {"login", `{"total": {"median_s": 0.512}}`, "0.512"},
	}
	for _, i := range instruments {
		s, ok := samples[i.name]
		if !ok {
			t.Errorf("%s: no sample", i.name)
			continue
		}
		if s.schema != "" {
			schema, err := os.ReadFile(fmt.Sprintf("../../docs/schema/%s-1.schema.json", s.schema))
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range regexp.MustCompile(`"(\w+)":`).FindAllString(s.text, -1) {
				if !bytes.Contains(schema, []byte(key)) {
					t.Errorf("%s: its schema has no %s", i.name, key)
				}
			}
		}
		var out, errs bytes.Buffer
		a := program{&app.App{Program: Name, Stdin: strings.NewReader(s.text), Stdout: &out, Stderr: &errs}}
		c := a.figureCmd()
		c.SetArgs([]string{i.name})
		if err := c.Execute(); err != nil || strings.TrimSpace(out.String()) != s.want {
			t.Errorf("%s: %q, %v; want %s", i.name, out.String(), err, s.want)
		}
		for _, empty := range []string{"", "{}", "[]", `{"runs": [{}], "curves": [{}], "counters": [{}], "groups": [{}]}`, "null"} {
			if v, err := i.figure([]byte(empty)); err == nil {
				t.Errorf("%s: %q gives %g", i.name, empty, v)
			}
		}
		if line := fmt.Sprintf("  %-10s  %s; %s, more is better", i.name, i.about, i.unit); len(line) > 80 {
			t.Errorf("%q is too long for the help", line)
		}
	}
}
