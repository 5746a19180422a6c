package redact

import (
	"fmt"
	"strings"
	"testing"
)

// A network's name in reverse DNS leads to the pseudonym that its address has elsewhere.
func TestReverseIsKin(t *testing.T) {
	r := redactor(t)
	f := strings.Split(strings.TrimSuffix(r.Text("10.77.12."), "."), ".")
	if len(f) != 3 || strings.Join(f, ".") == "10.77.12" {
		t.Fatalf("10.77.12. became %q", f)
	}
	want := f[2] + "." + f[1] + "." + f[0] + ".in-addr.arpa"
	if got := r.Text("12.77.10.in-addr.arpa"); got != want {
		t.Errorf("12.77.10.in-addr.arpa became %q, want %q", got, want)
	}
}

// No two names have one pseudonym.
func TestManyNames(t *testing.T) {
	r := redactor(t)
	by := map[string]string{}
	for i := range 20000 {
		name := fmt.Sprintf("zaphod%dx", i)
		p := r.User(name)
		if other, ok := by[p]; ok {
			t.Fatalf("%s and %s are both %s", name, other, p)
		}
		by[p] = name
	}
}

// A short word can be a name, and is no more harmless than a long one.
func TestShortNames(t *testing.T) {
	r := redactor(t)
	for _, w := range []string{"kzo", "qzvx"} {
		r.LearnUser(w)
		if got := r.Text("by " + w + " at"); strings.Contains(got, w) {
			t.Errorf("%s stays in %q", w, got)
		}
	}
}

// Processes' command lines and environments may contain passwords.
func TestProcessesStayOut(t *testing.T) {
	r := redactor(t)
	for _, name := range []string{"/proc/1/cmdline", "/proc/4321/cmdline", "/proc/4321/environ", "/proc/4321/maps", "/proc/net/tcp6"} {
		if got, ok := r.File(name, []byte("mysql -phunter2\n")); ok {
			t.Errorf("%s was kept: %q", name, got)
		}
	}
}
