package ksmscanrate

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestLore(t *testing.T) {
	a, err := Trap.Lore.Article()
	if err != nil {
		t.Fatal(err)
	}
	if a.ID != "ksm-scan-rate" || len(a.Symptoms) < 5 || a.Body == "" {
		t.Errorf("%+v", a)
	}
}

func TestFullScan(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		name  string
		r     rate
		pages uint64
		cost  time.Duration
		want  time.Duration
	}{
		{"nothing", rate{100, 20 * ms}, 0, time.Microsecond, 0},
		{"one batch", rate{100, 20 * ms}, 100, 0, 20 * ms},
		{"just more than a batch", rate{100, 20 * ms}, 101, 0, 40 * ms},
		{"the kernel's default, 1 GiB", rate{100, 20 * ms}, 262144, 0, 2622 * 20 * ms},
		{"Ubuntu's, 40 GiB", rate{100, 200 * ms}, 10485760, 0, 104858 * 200 * ms},
		{"one batch a scan", rate{1e9, 20 * ms}, 10485760, 10 * time.Microsecond, 20*ms + 10485760*10*time.Microsecond},
		{"never", rate{0, 20 * ms}, 1, 0, math.MaxInt64},
		{"no sleep", rate{100, 0}, 1000, time.Microsecond, ms},
		{"beyond what a duration holds", rate{1, time.Hour}, math.MaxUint64, 0, math.MaxInt64},
	} {
		if got := c.r.fullScan(c.pages, c.cost); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Whatever is planned must bring the scan within what the check accepts, and
// within the budget, for every amount of memory and every sleep.
func TestPlannedRateIsAccepted(t *testing.T) {
	for _, pages := range []uint64{1000, 262144, 10485760, 78643200, 536870912} {
		for _, sleep := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond,
			2 * time.Second} {
			for _, cost := range []time.Duration{500 * time.Nanosecond, 2 * time.Microsecond, 10 * time.Microsecond} {
				target := reachable(pages, cost)
				r := rate{pagesFor(pages, sleep, target, cost), sleep}
				scan := r.fullScan(pages, cost)
				if tooSlow(scan, pages, cost) || scan > target+2*sleep {
					t.Errorf("%d pages, %v, %v: %d pages a batch take %v, aim %v", pages, sleep, cost, r.pages, scan, target)
				}
				if cpu := r.cpu(pages, cost); r.pages > 100 && cpu > budget*1.03 {
					t.Errorf("%d pages, %v, %v: %v of a CPU", pages, sleep, cost, cpu)
				}
			}
		}
	}
}

func TestTooSlow(t *testing.T) {
	const gib = 262144
	for _, c := range []struct {
		name  string
		r     rate
		pages uint64
		want  bool
	}{
		{"default, 1 GiB", rate{100, 20 * time.Millisecond}, gib, false},
		{"default, 16 GiB", rate{100, 20 * time.Millisecond}, 16 * gib, false},
		{"default, 20 GiB", rate{100, 20 * time.Millisecond}, 20 * gib, true},
		{"Ubuntu, 2 GiB", rate{100, 200 * time.Millisecond}, 2 * gib, true},
		{"ksmtuned's most, 256 GiB", rate{1250, 10 * time.Millisecond}, 256 * gib, false},
		{"1e9, 300 GiB: all of a CPU, cannot be quicker", rate{1e9, 20 * time.Millisecond}, 300 * gib, false},
	} {
		if got := tooSlow(c.r.fullScan(c.pages, assumedCost), c.pages, assumedCost); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func load(t *testing.T, name string) *host.Host {
	src, _ := hosttest.Load(t, "testdata/"+name+".txtar")
	return host.New(src)
}

// steps writes a plan as lines.
func steps(p remedy.Plan) string {
	var b strings.Builder
	for _, s := range p.Steps {
		switch s := s.(type) {
		case step.Sysfs:
			b.WriteString("sysfs " + strings.TrimPrefix(s.Path, dir) + " " + s.Value + "\n")
		case step.File:
			b.WriteString("file " + s.Path + "\n" + string(s.Content))
		case step.Unit:
			b.WriteString("unit " + s.Act + " " + s.Name + "\n")
		}
	}
	return b.String()
}

func TestPlan(t *testing.T) {
	for _, c := range []struct{ host, subject, steps, says string }{
		{"trapped", scanRate, `sysfs pages_to_scan 4320
file /etc/tmpfiles.d/fettle-ksm.conf
# Settings of kernel samepage merging, tmpfiles.d(5). Written by fettle.
w /sys/kernel/mm/ksm/pages_to_scan - - - - 4320
`, "about 17 % of one CPU, assumed"},
		{"trapped-measured", scanRate, `sysfs advisor_target_scan_time 600
sysfs advisor_max_cpu 50
sysfs advisor_max_pages_to_scan 30000
sysfs advisor_min_pages_to_scan 500
sysfs advisor_mode scan-time
file /etc/tmpfiles.d/fettle-ksm.conf
# Settings of kernel samepage merging, tmpfiles.d(5). Written by fettle.
w /sys/kernel/mm/ksm/advisor_target_scan_time - - - - 600
w /sys/kernel/mm/ksm/advisor_max_cpu - - - - 50
w /sys/kernel/mm/ksm/advisor_max_pages_to_scan - - - - 30000
w /sys/kernel/mm/ksm/advisor_min_pages_to_scan - - - - 500
w /sys/kernel/mm/ksm/advisor_mode - - - - scan-time
`, "measured here: 150.0 s"},
		{"trapped-ksmtuned", scanRate, `file /etc/ksmtuned.conf
KSM_NPAGES_MAX=216
KSM_SLEEP_MSEC=100 # slow
unit restart ksmtuned.service
`, "ksmtuned is in charge"},
		{"wanted-off", runFile, "sysfs run 1\n", "configured already: /etc/tmpfiles.d/ksm.conf:1"},
	} {
		t.Run(c.host, func(t *testing.T) {
			h := load(t, c.host)
			var f *trap.Finding
			for _, o := range traptest.Run(t, &Trap, h) {
				if o.Subject == c.subject {
					f = &o
				}
			}
			p, err := Trap.Plan(t.Context(), h, *f)
			if err != nil {
				t.Fatal(err)
			}
			if got := steps(p); got != c.steps {
				t.Errorf("got\n%s\nwant\n%s", got, c.steps)
			}
			if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, c.says) {
				t.Errorf("notes %q do not say %q", notes, c.says)
			}
		})
	}
}

func TestPlanRefuses(t *testing.T) {
	for _, c := range []struct{ host, subject, says string }{
		{"trapped-numa-profit", acrossNodes, "write 2 to"},
		{"trapped-numa-profit", profit, "nosharepages"},
		{"nothing-to-merge", runFile, "next to nothing"},
		{"left-off", runFile, "should stay off"},
	} {
		_, err := Trap.Plan(t.Context(), load(t, c.host), trap.Finding{Subject: c.subject, Facts: trap.FactsOf(facts{})})
		if r, ok := err.(*remedy.Refusal); !ok || !strings.Contains(r.Why, c.says) {
			t.Errorf("%s %s: %v, want a refusal with %q", c.host, c.subject, err, c.says)
		}
	}
}

// All lines that somebody else wrote for the same file are taken out, or the
// plan refuses.
func TestPlanOtherLines(t *testing.T) {
	for file, ok := range map[string]bool{"etc": true, "usr/lib": false} {
		src, _, err := hosttest.Parse([]byte(golden(t, "trapped") + "-- root/" + file + "/tmpfiles.d/aaa.conf --\n# mine\n" +
			"w /sys/kernel/mm/ksm/pages_to_scan - - - - 100\nw /sys/kernel/mm/ksm/run - - - - 1\nw /sys/kernel/mm/ksm/pages_to_scan - - - - 200\n"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Trap.Plan(t.Context(), host.New(src), trap.Finding{Subject: scanRate})
		if _, refused := err.(*remedy.Refusal); refused == ok {
			t.Errorf("%s: %v", file, err)
		}
		want := "file /etc/tmpfiles.d/aaa.conf\n# mine\n" +
			"# now in /etc/tmpfiles.d/fettle-ksm.conf: w /sys/kernel/mm/ksm/pages_to_scan - - - - 100\nw /sys/kernel/mm/ksm/run - - - - 1\n" +
			"# now in /etc/tmpfiles.d/fettle-ksm.conf: w /sys/kernel/mm/ksm/pages_to_scan - - - - 200\n"
		if ok && !strings.Contains(steps(p), want) {
			t.Errorf("got\n%s", steps(p))
		}
	}
}

func TestDropInText(t *testing.T) {
	was := "# kept\nw /sys/kernel/mm/ksm/pages_to_scan - - - - 5\nw /sys/kernel/mm/ksm/run - - - - 1"
	got := string(dropInText([]byte(was), []setting{{name: "pages_to_scan", value: "9"}}))
	want := "# kept\nw /sys/kernel/mm/ksm/run - - - - 1\nw /sys/kernel/mm/ksm/pages_to_scan - - - - 9\n"
	if got != want {
		t.Errorf("got %q", got)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzSetShellValue(f *testing.F) {
	f.Add("KSM_NPAGES_MAX=1\n#x")
	f.Add("")
	f.Add("X=1\n  KSM_NPAGES_MAX=3")
	f.Fuzz(func(t *testing.T, s string) {
		out := setShellValue([]byte(s), "KSM_NPAGES_MAX", "77")
		if !strings.Contains(string(out), "KSM_NPAGES_MAX=77\n") {
			t.Errorf("%q became %q", s, out)
		}
	})
}

func golden(t *testing.T, name string) string {
	b, err := os.ReadFile("testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What a plan sets must make the check say clear.
func TestPlanMends(t *testing.T) {
	for _, name := range []string{"trapped", "trapped-measured", "trapped-advisor", "trapped-advisor-limit", "trapped-ksmtuned",
		"first-scan-slow", "next-boot"} {
		t.Run(name, func(t *testing.T) {
			text := golden(t, name)
			h := func() *host.Host { src, _, _ := hosttest.Parse([]byte(text)); return host.New(src) }
			out := traptest.Run(t, &Trap, h())
			for _, o := range out {
				if o.Status != trap.Found {
					continue
				}
				p, err := Trap.Plan(t.Context(), h(), o)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range p.Steps {
					name, content := "", ""
					switch s := s.(type) {
					case step.Sysfs:
						name, content = s.Path, s.Value
						if s.Value == "scan-time" {
							content = "none [scan-time]"
						}
					case step.File:
						name, content = s.Path, strings.TrimSuffix(string(s.Content), "\n")
					default:
						continue
					}
					text = setFile(text, "-- root"+name+" --\n", content)
				}
			}
			src, _, err := hosttest.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if said := traptest.Lines(traptest.Run(t, &Trap, host.New(src))); strings.Contains(said, "found") ||
				strings.Contains(said, "unknown") {
				t.Errorf("after the plan:\n%s\n%s", said, text)
			}
		})
	}
}

// setFile replaces a file of a txtar text, or adds it.
func setFile(text, head, content string) string {
	before, rest, ok := strings.Cut(text, head)
	if !ok {
		first := strings.Index(text, "-- ")
		return text[:first] + head + content + "\n" + text[first:]
	}
	_, after, _ := strings.Cut(rest, "\n-- ")
	return before + head + content + "\n-- " + after
}
