package octets

import (
	"testing"
	"unicode/utf8"

	"fettle/internal/means"
)

var names = map[string]string{
	"br0": "br0", "größe": "größe", "": "", `dev-disk\x2duuid`: `dev-disk\x2duuid`, `a\x5cb`: `a\x5cb`,
	"br\xff": `br\xff`, "\xc3": `\xc3`, "a\x80\xfeb": `a\x80\xfeb`,
	`br\xff`: `br\x5cxff`, `br\x5cxff`: `br\x5cx5cxff`, "\\\xff": `\\xff`, "\\x5c\xff": `\x5c\xff`,
}

func TestText(t *testing.T) {
	for name, text := range names {
		if got := Text(name); got != text {
			t.Errorf("%q: %s, want %s", name, got, text)
		}
		if got := Name(text); got != name {
			t.Errorf("%s: %q, want %q", text, got, name)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzText(f *testing.F) {
	for name := range names {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		text := Text(name)
		if !utf8.ValidString(text) || Name(text) != name {
			t.Errorf("%q: %q: %q", name, text, Name(text))
		}
	})
}
