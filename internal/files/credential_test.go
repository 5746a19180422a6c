package files

import "testing"

func TestCredential(t *testing.T) {
	for _, c := range []struct{ dir, name, want string }{
		{"", "/etc/x", "/etc/x"},
		{"/run/c", "credential:hub.key", "/run/c/hub.key"},
		{"/run/c", "credential:../x", ""},
		{"/run/c", "credential:..", ""},
		{"/run/c", "credential:", ""},
		{"", "credential:hub.key", ""},
	} {
		t.Setenv("CREDENTIALS_DIRECTORY", c.dir)
		got, err := Credential(c.name)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q in %q: %q, %v", c.name, c.dir, got, err)
		}
	}
}
