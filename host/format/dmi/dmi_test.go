package dmi

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host/hosttest"
	"fettle/internal/means"
)

const table = "# dmidecode 3.4\nGetting SMBIOS data from sysfs.\nSMBIOS 2.8 present.\n\nHandle 0x0800, DMI type 8, 9 bytes\nPort " +
	"Connector Information\n\tInternal Reference Designator: " +
	"COM2\n\tExternal Connector Type: None\n\tPort Type: Serial Port 16550A Compatible\n\n" +
	"Handle 0x2600, DMI type 38, 18 bytes\nIPMI Device Information\n\tInterface Type: KCS (Keyboard Control Style)\n\tFlags:\n\t\tA: " +
	"b\n\nHandle 0x7F00, DMI type 127, 4 bytes\nEnd Of Table\n\n"

func TestParse(t *testing.T) {
	r, err := Parse(table)
	if err != nil || len(r) != 3 || r[0].Type != 8 || r[0].Title != "Port Connector Information" ||
		r[0].Values["Internal Reference Designator"] != "COM2" ||
		r[1].Type != 38 || r[1].Values["Interface Type"] != "KCS (Keyboard Control Style)" ||
		r[1].Values["A"] != "" ||
		len(r[2].Values) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for text, want := range map[string]string{
		"":                                  "no structure",
		"# dmidecode 3.4\n/dev/mem: denied": "no structure",
		"Handle 0x1, DMI type x, 9 bytes\n": "names no type",
		"Handle 0x1\n":                      "names no type",
		"Handle 0x1, DMI type 256, 9\n":     "names no type",
		"Handle 0x1, DMI type -1, 9\n":      "names no type",
		strings.Repeat("Handle 0x1, DMI type 1, 9 bytes\n", maxRecords+1): "more than 10000",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q", text, err, want)
		}
	}
}

// TestRead: the exit status of dmidecode counts only where it shows nothing.
func TestRead(t *testing.T) {
	const one = "Handle 0x1, DMI type 0, 9 bytes\nHandle 0x2, DMI type 255, 9 bytes\n"
	const all = "[{0  map[]} {255  map[]}] <nil>"
	for text, want := range map[string]string{
		"-- command/dmidecode --\n" + one:             all,
		"-- command/dmidecode --\nexit 1\n" + one:     all,
		"-- command/dmidecode --\nexit 1\nnot root\n": "[] dmidecode: exit status 1: ",
		"-- command/dmidecode --\nno SMBIOS\n":        "[] dmidecode shows no structure of the firmware's",
		"-- denied/command/dmidecode --\n":            "[] running dmidecode: permission denied",
	} {
		r, err := Read(t.Context(), hosttest.New(t, text))
		if got := fmt.Sprint(r, " ", err); got != want {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	f.Add(table)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err == nil && len(r) == 0 {
			t.Error("no structure, and no error")
		}
		for _, s := range r {
			if s.Type < 0 || s.Type > 255 {
				t.Errorf("%+v", s)
			}
		}
	})
}
