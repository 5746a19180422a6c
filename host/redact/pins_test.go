package redact

import (
	"strings"
	"testing"
)

// TestPinsAlone: apt's Pin is no PIN; what is no field may be anything, and goes.
func TestPinsAlone(t *testing.T) {
	r, err := New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	b, ok := r.File("/etc/apt/preferences.d/mixed", []byte("Explanation: password: hunter2\nPackage: *\nPin: release a=stable\n"+
		"Pin-Priority: 900\n\nPackage: *\nPin: release o=AcmeCorp\n"))
	if !ok || !strings.Contains(string(b), "\nPackage: *\nPin: release a=stable\nPin-Priority: 900\n") {
		t.Errorf("kept %v: %q", ok, b)
	}
	for _, w := range []string{"hunter2", "AcmeCorp", "Explanation"} {
		if strings.Contains(string(b), w) {
			t.Errorf("%s is still there: %q", w, b)
		}
	}
}
