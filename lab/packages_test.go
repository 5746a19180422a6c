package lab

import (
	"errors"
	"strings"
	"testing"
)

func TestMissingNamesAllAtOnce(t *testing.T) {
	jobs := []Job{
		{Scenario: Scenario{Needs: Needs{Tools: []string{"nosuch-b", "sleep"}, MayTools: []string{"nosuch-may"}}}},
		{Experiment: &Experiment{Needs: Needs{Tools: []string{"nosuch-a", "nosuch-b"}}}},
	}
	var e *MissingError
	if err := Missing(jobs); !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	if got := strings.Join(e.Tools, " "); got != "nosuch-b nosuch-a" {
		t.Errorf("programs: %s", got)
	}
	if got := strings.Join(e.Packages, " "); got != "nosuch-a nosuch-b" {
		t.Errorf("packages: %s", got)
	}
	e = &MissingError{Tools: []string{"mkfs.xfs", "radvd"}, Packages: []string{"radvd", "xfsprogs"}}
	if got := e.Error(); !strings.HasPrefix(got, "these programs are not installed: mkfs.xfs, radvd; ") ||
		!strings.HasSuffix(got, "radvd xfsprogs") {
		t.Errorf("said: %s", got)
	}
	e = &MissingError{Tools: []string{"security/pam_nosuch.so"}}
	if got := e.Error(); !strings.HasPrefix(got, "the library security/pam_nosuch.so is not installed; ") {
		t.Errorf("said: %s", got)
	}
	jobs = []Job{{Scenario: Scenario{Needs: Needs{Libs: []string{"security/pam_nosuch.so", "libc.so.6"}}}}}
	if err := Missing(jobs); !errors.As(err, &e) || strings.Contains(strings.Join(e.Tools, " "), "libc") ||
		!strings.Contains(strings.Join(e.Tools, " "), "security/pam_nosuch.so") {
		t.Errorf("libraries: %v", err)
	}
	if err := Missing([]Job{{Scenario: Scenario{Needs: Needs{Tools: []string{"sleep"}}}}}); errors.As(err, &e) &&
		strings.Contains(err.Error(), "sleep") {
		t.Errorf("sleep is missing? %v", err)
	}
}

// A missing program keeps only those scenarios from being played that need it.
func TestMissingKeepsOnlyItsOwn(t *testing.T) {
	lacks := Job{Trap: "t", Scenario: Scenario{Name: "lacks", Needs: Needs{Tools: []string{"nosuch"}}}}
	has := Job{Trap: "t", Scenario: Scenario{Name: "has"}, Options: Options{Init: "/nosuch/fettle-lab", Fettle: "/nosuch/fettle"}}
	said := map[string]error{}
	PlayAll(t.Context(), []Job{lacks, has}, 1, func(o Outcome) { said[o.Job.Name()] = o.Err })
	var e *MissingError
	if !errors.As(said["t/lacks"], &e) || strings.Join(e.Tools, " ") != "nosuch" {
		t.Errorf("lacks: %v", said["t/lacks"])
	}
	if err := said["t/has"]; err == nil || errors.As(err, &e) || !strings.Contains(err.Error(), "/nosuch/fettle-lab") {
		t.Errorf("has: %v", err)
	}
}

// A plan spoilt on purpose proves something only when it was applied and noticed.
func TestTurn(t *testing.T) {
	for _, c := range []struct {
		stages []Stage
		ok     bool
		want   bool
	}{
		{[]Stage{{Name: "fix", Said: NothingToSpoil}}, false, false},
		{[]Stage{{Name: "fix"}}, false, true},
		{[]Stage{{Name: "check", OK: true}, {Name: "fix", OK: true}, {Name: "recheck", OK: true}}, true, false},
		{[]Stage{{Name: "check", OK: true}, {Name: "fix", OK: true}, {Name: "recheck"}}, false, true},
		{[]Stage{{Name: "check", OK: true}, {Name: "fix"}}, false, true},
		{[]Stage{{Name: "check", OK: true}, {Name: "fix", OK: true}}, false, false}, // the machine died
		{[]Stage{{Name: "check", OK: true}, {Name: "fix", Said: "fettle: " + NothingToSpoil + ": 2 steps"}}, false, false},
		{[]Stage{{Name: "prepare"}}, false, false},
		{[]Stage{{Name: "prepare", OK: true}, {Name: "check"}}, false, false},
		{nil, false, false},
	} {
		v := Verdict{Scenario: "s", OK: c.ok, Stages: c.stages}
		v.turn("spoilt")
		if v.OK != c.want || v.Scenario != "s/spoilt" || v.OK == (v.Why != "") {
			t.Errorf("%+v: %+v", c.stages, v)
		}
	}
}
