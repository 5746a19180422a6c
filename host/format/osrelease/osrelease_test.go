package osrelease

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestAsTheShell: os-release is made to be sourced, so a shell is the judge.
func TestAsTheShell(t *testing.T) {
	sh := means.Tool(t, "sh")
	const text = "NAME=\"Debian GNU/Linux\"\nID=debian\n# a comment\nVERSION='12 (x)'\nPRETTY_NAME=\"a \\\"b\\\" \\$HOME \\\\ " +
		"\\`c\\`\"\nEMPTY=\nTWICE=1\nTWICE=2\n"
	file := t.TempDir() + "/os-release"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := Parse(text)
	for _, key := range []string{"NAME", "ID", "VERSION", "PRETTY_NAME", "EMPTY", "TWICE"} {
		out, err := exec.Command(sh, "-c", ". "+file+`; eval "printf %s \"\$`+key+`\""`).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got[key] != string(out) {
			t.Errorf("%s is %q, for the shell %q", key, got[key], out)
		}
	}
}

func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n":      "Debian 12",
		"PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\n":                  "Ubuntu 24.04.1 LTS",
		"PRETTY_NAME=\"Red Hat Enterprise Linux 9.4 (Plow)\"\n": "Red Hat Enterprise Linux 9.4",
		"NAME=Void\nVERSION_ID=\n":                              "Void",
		"":                                                      "",
	} {
		if got := (File{Fields: Parse(text)}).Name(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("A=\"b\\\"\"\n#=\n='\n=\"\n")
	f.Fuzz(func(t *testing.T, s string) {
		for k := range Parse(s) {
			if k == "" || strings.Contains(k, "\n") {
				t.Fatalf("%q: a field %q", s, k)
			}
		}
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }
