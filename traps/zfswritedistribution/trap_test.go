package zfswritedistribution

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestLore(t *testing.T) {
	if a, err := Trap.Lore.Article(); err != nil || len(a.Symptoms) < 3 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestPartitionOf(t *testing.T) {
	for _, c := range []struct {
		name, disk string
		want       bool
	}{{"sda1", "sda", true}, {"sda", "sda", false}, {"sdaa1", "sda", false}, {"nvme0n1p12", "nvme0n1", true},
		{"nvme0n12", "nvme0n1", false}, {"mmcblk0p1", "mmcblk0", true}} {
		if got := partitionOf(c.name, c.disk); got != c.want {
			t.Errorf("%s of %s: %v", c.name, c.disk, got)
		}
	}
}

// TestSampled: what was written over an interval is compared, in what zpool
// printed in the lab.
func TestSampled(t *testing.T) {
	files, err := filepath.Glob("testdata/sampled/*.txtar")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		src, extra := hosttest.Load(t, file)
		var got []string
		var said string
		trap.Run(t.Context(), host.New(src), []*trap.Trap{&Trap}, trap.Options{Interval: 10 * time.Second}, func(r trap.Result) {
			for _, o := range r.Outcomes {
				got = append(
					got,
					strings.Join(strings.Fields(fmt.Sprintf("%s %s %s: %s%s", o.Status, o.Severity, o.Subject, o.Summary, o.Reason)), " "),
				)
				for _, e := range o.Evidence {
					said += e.Value + "\n"
				}
			}
		})
		if strings.Join(got, "\n") != strings.TrimSpace(extra["want"]) {
			t.Errorf("%s:\n%s", file, strings.Join(got, "\n"))
		}
		if want := strings.TrimSpace(extra["evidence"]); !strings.Contains(said, want) {
			t.Errorf("%s: evidence without %q:\n%s", file, want, said)
		}
	}
}
