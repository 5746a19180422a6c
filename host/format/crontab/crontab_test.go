package crontab

import (
	"testing"

	"fettle/internal/means"
)

// TestParse: what cron says of the files, where it is not at hand to be asked (TestCronAgrees), and what cronie does otherwise (entry.c).
func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		d          Dialect
		bad, user  string
		jobs, line int
		unended    bool
	}{
		{"a job", "MAILTO=root\n\n17 3 * * * root true\n", Debian, "", "root", 1, 3, false},
		{"no user, one word", "17 3 * * * true\n", Debian, "bad command", "", 1, 1, false},
		{"no user, two words", "17 3 * * * true -x\n", Debian, "", "true", 1, 1, false},
		{"no newline", "17 3 * * * root true", Debian, "", "root", 1, 1, true},
		{"comment without newline", "17 3 * * * root true\n# end", Debian, "", "root", 1, 1, false},
		{"variable without value", "MAILTO=\n", Debian, "bad minute", "", 1, 1, false},
		{"variable without value", "MAILTO=\n", Cronie, "", "", 0, 0, false},
		{"dash", "-17 3 * * * root true\n", Debian, "bad minute", "", 1, 1, false},
		{"dash", "-17 3 * * * root true\n", Cronie, "", "root", 1, 1, false},
		{"range of one", "5-5 * * * * root true\n", Cronie, "", "root", 1, 1, false},
		{"range back", "30-10 * * * * root true\n", Debian, "", "root", 1, 1, false},
		{"range back", "30-10 * * * * root true\n", Cronie, "bad minute", "", 1, 1, false},
		{"random", "0~10 3 * * * root true\n", Debian, "", "root", 1, 1, false},
		{"five fields with a shortcut", "@daily root true\n", Debian, "", "root", 1, 1, false},
		{"unknown shortcut", "@fortnightly root true\n", Debian, "bad time specifier", "", 1, 1, false},
		{"day of week", "0 0 * * 8 root true\n", Debian, "bad day-of-week", "", 1, 1, false},
	} {
		got := Parse(c.d, c.text)
		if len(got.Jobs) != c.jobs || got.Unended != c.unended {
			t.Errorf("%s (%v): %+v", c.name, c.d, got)
			continue
		}
		if c.jobs > 0 && (got.Jobs[0].Bad != c.bad || got.Jobs[0].User != c.user || got.Jobs[0].Line != c.line) {
			t.Errorf("%s (%v): %+v", c.name, c.d, got.Jobs[0])
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("17 3 * * * root true\n")
	f.Add("@reboot root x\nA = 'b\n*/0 1-2,3~ JAN mon-fri x y")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []Dialect{Debian, Cronie} {
			for _, j := range Parse(d, text).Jobs {
				if j.Line < 1 || j.Bad == "" && j.User == "" {
					t.Fatalf("%q: %+v", text, j)
				}
			}
		}
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }
