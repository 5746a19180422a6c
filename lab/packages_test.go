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
	if got := e.Error(); !strings.HasPrefix(got, "these programs are not installed: mkfs.xfs, radvd; ") || !strings.HasSuffix(got, "radvd xfsprogs") {
		t.Errorf("said: %s", got)
	}
	e = &MissingError{Tools: []string{"security/pam_nosuch.so"}}
	if got := e.Error(); !strings.HasPrefix(got, "the library security/pam_nosuch.so is not installed; ") {
		t.Errorf("said: %s", got)
	}
	jobs = []Job{{Scenario: Scenario{Needs: Needs{Libs: []string{"security/pam_nosuch.so", "libc.so.6"}}}}}
	if err := Missing(jobs); !errors.As(err, &e) || strings.Contains(strings.Join(e.Tools, " "), "libc") || !strings.Contains(strings.Join(e.Tools, " "), "security/pam_nosuch.so") {
		t.Errorf("libraries: %v", err)
	}
	if err := Missing([]Job{{Scenario: Scenario{Needs: Needs{Tools: []string{"sleep"}}}}}); errors.As(err, &e) && strings.Contains(err.Error(), "sleep") {
		t.Errorf("sleep is missing? %v", err)
	}
}
