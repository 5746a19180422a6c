package sample

import (
	"context"
	"strings"
	"testing"

	"fettle/host"
)

func TestRawContent(t *testing.T) {
	src, _, err := Parse([]byte("-- raw/etc/a --\n\"x = 1\\n\"\n\"y = \\xff\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := host.New(src).ReadFile(context.Background(), "/etc/a")
	if err != nil || string(b) != "x = 1\ny = \xff" {
		t.Errorf("read %q, %v", b, err)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"-- rot/etc/a --\n":        `no section is called "rot/etc/a"; did you mean root/etc/a?`,
		"-- wants --\n":            "did you mean want?",
		"-- nothinglikeit --\n":    "there are root, raw, link",
		"incompleet: true\n":       "no key is called \"incompleet\"; did you mean incomplete?",
		"-- raw/etc/a --\nplain\n": "plain is no Go string literal",
		"euid: root\n":             "invalid syntax",
	} {
		if _, _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, _, err := Parse([]byte("A comment: with a colon\nkind: root\n\n-- want --\n")); err != nil {
		t.Error(err)
	}
}

func TestHead(t *testing.T) {
	src, _, err := Parse(
		[]byte("hostname: web1\nrelease: 6.1.0-28-amd64\nversion: #1 SMP Debian 1:6.1.119-1 (2024-11-22)\nmachine: aarch64\neuid: 1000\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	id := host.New(src).Identity()
	if id.Hostname != "web1" || id.Release != "6.1.0-28-amd64" || id.Version != "#1 SMP Debian 1:6.1.119-1 (2024-11-22)" ||
		id.Machine != "aarch64" ||
		id.EUID != 1000 {
		t.Errorf("%+v", id)
	}
}
