package udev

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host/hosttest"
)

// TestOutcome: what rules make of a device besides links: variables, programs, and what only a program decides.
func TestOutcome(t *testing.T) {
	for rules, want := range map[string]string{
		`ENV{A}="1"` + "\n" + `ENV{A}+="2"`:                                  "A=1 2",
		`ENV{A}+="2"`:                                                        "A=2",
		`ENV{A}="1"` + "\n" + `ENV{A}="2"`:                                   "A=2",
		`PROGRAM="/bin/x", ENV{A}="1"`:                                       "A? program=/bin/x",
		`PROGRAM="/bin/x", ENV{A}="1"` + "\n" + `ENV{A}="2"`:                 "A=2 program=/bin/x",
		`RESULT=="x", ENV{A}="1"`:                                            "A?",
		`IMPORT{program}="/bin/y %k", ENV{A}="1"`:                            "A? program=/bin/y ttyUSB0",
		`IMPORT{file}="/f", ENV{A}="1"`:                                      "A?",
		`IMPORT{cmdline}="x", ENV{A}="1"`:                                    "A?",
		`IMPORT{builtin}="usb_id", ENV{A}="1"`:                               "A=1",
		`TEST=="x", ENV{A}="1"`:                                              "A?",
		`RUN+="/bin/r $kernel"`:                                              "run=/bin/r ttyUSB0",
		`RUN{builtin}+="kmod load"`:                                          "",
		`ENV{SYSTEMD_WANTS}="a.service"`:                                     "SYSTEMD_WANTS=a.service run=a.service",
		`ACTION=="remove", ENV{A}="1"`:                                       "",
		`ACTION!="remove", ENV{A}="1"`:                                       "A=1",
		`DEVPATH=="*/tty/*", DRIVER=="", NAME=="", ENV{A}="1"`:               "A=1",
		`DRIVER!="", ENV{A}="1"`:                                             "",
		`SUBSYSTEM=="usb", ENV{A}="1"`:                                       "",
		`ATTR{dev}=="188:0", ENV{A}="1"`:                                     "A=1",
		`ATTR{dev}!="188:0", ENV{A}="1"`:                                     "",
		`TAG=="x", ENV{A}="1"`:                                               "A?",
		`SYMLINK=="x", ENV{A}="1"`:                                           "A?",
		`KERNEL==i"TTYusb*", ENV{A}="1"`:                                     "A=1",
		`KERNEL=="TTYusb*", ENV{A}="1"`:                                      "",
		`TAGS=="seat", ENV{A}="1"`:                                           "A=1",
		`TAGS=="none", ENV{A}="1"`:                                           "",
		`TAGS!="none", ENV{A}="1"`:                                           "A=1",
		`KERNELS=="1-1", TAGS!="seat", ENV{A}="1"`:                           "",
		`DRIVERS=="usb", KERNELS!="1-1", ENV{A}="1"`:                         "",
		`SUBSYSTEMS=="nothing", ENV{A}="1"`:                                  "",
		`ATTRS{serial}=="S1", SUBSYSTEMS=="usb", ENV{A}="1"`:                 "A=1",
		`GOTO="x"` + "\n" + `ENV{A}="1"` + "\n" + `GOTO="x", LABEL="y"`:      "",
		`RESULT=="x", GOTO="e"` + "\n" + `ENV{A}="1"` + "\n" + `LABEL="e"`:   "A=1",
		`GOTO="e"` + "\n" + `ENV{LABEL}="e"` + "\n" + `LABEL="e",ENV{A}="1"`: "A=1",
		`GOTO="e"` + "\n" + `ENV{A}="e"` + "\n" + `LABEL="f",ENV{B}="1"`:     "",
	} {
		parsed, errs := Parse("/x.rules", []byte(rules))
		if len(errs) > 0 {
			t.Fatal(rules, errs)
		}
		d := converter("S1")
		d.Chain[3].Tags = []string{"seat"}
		out := (&Rules{Rules: parsed}).Apply(d)
		var got []string
		for _, name := range []string{"A", "B", "SYSTEMD_WANTS"} {
			if v, ok := out.Env[name]; ok && !out.Maybe[name] {
				got = append(got, name+"="+v)
			} else if out.Maybe[name] {
				got = append(got, name+"?")
			}
		}
		for _, p := range out.Programs {
			got = append(got, fmt.Sprintf("program=%s", p.Command))
		}
		for _, p := range out.Runs {
			got = append(got, fmt.Sprintf("run=%s", p.Command))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", rules, s, want)
		}
	}
}

// TestSubstitute: udev(7)'s substitutions in both their forms; what is none stays.
func TestSubstitute(t *testing.T) {
	for in, want := range map[string]string{
		"%k $kernel $name": "ttyUSB0 ttyUSB0 ttyUSB0", "%n-$number": "0-0", "%M:%m $major:$minor": "188:0 188:0",
		"$devnode %N":      "/dev/ttyUSB0 /dev/ttyUSB0",
		"%r $root %S $sys": "/dev /dev /sys /sys", "%E{MAJOR} $env{MINOR}": "188 0",
		"%s{serial} $attr{idVendor} $sysfs{none}.": "S1 0403 .",
		"$driver.%d": ".", "%p": "/devices/pci0/usb1/1-1/1-1:1.0/ttyUSB0/tty/ttyUSB0", "100%": "100%", "$": "$", "a$$b%%c": "a$b%c",
		"%z $zebra": "%z $zebra",
		"$k %":      "$k %", "%k{x}": "ttyUSB0", "%s{serial": "{serial", "$attr{}": "", "%c $result %P": unknown + " " + unknown +
			" " + unknown,
		"$devpath": "/devices/pci0/usb1/1-1/1-1:1.0/ttyUSB0/tty/ttyUSB0", "$$k": "$k",
	} {
		if got := (&run{d: converter("S1"), out: Outcome{Env: converter("").Env}}).substitute(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	if got := (&run{d: converter("")}).substitute(strings.Repeat("x", maxRule-1) + "%k"); len(got) != maxRule {
		t.Errorf("%d bytes of a result that is too long", len(got))
	}
}

// TestValues: quotes behind a backslash, prefixes, the letters of keys, and rules of at most 16 KiB.
func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		`A=="\""`: `A=="""`, `A=="\"`: "error", `A=="\n"`: `A=="\n"`, `A=="\\"`: "error", `AZ_az==ei"x"`: `AZ_az==i"x"`,
		`A==e"x"`: `A=="x"`,
		`A==e`:    "error", `A==x"y"`: "error", `A0=="x"`: "error", `[=="x"`: "error", `A=="x", , B=="y"`: `A=="x" B=="y"`, `A`: "error",
		`@=="x"`:   "error",
		`A=="\"b"`: `A==""b"`, ",": "", `A=="` + strings.Repeat("x", maxRule-5) + `"`: `A=="` + strings.Repeat("x", maxRule-5) + `"`,
		`A=="` + strings.Repeat("x", maxRule-4) + `"`: "error", `{=="x"`: "error",
	} {
		rules, errs := Parse("x", []byte(text))
		var got []string
		for _, e := range errs {
			got = append(got, "error")
			if len(e.Msg) > 200 {
				t.Errorf("the error quotes %d bytes", len(e.Msg))
			}
		}
		for _, r := range rules {
			for _, tok := range r.Tokens {
				fold := map[bool]string{true: "i"}[tok.Fold]
				got = append(got, tok.Key+tok.Op+fold+`"`+tok.Value+`"`)
			}
			if len(r.Tokens) == 0 {
				t.Errorf("%.40q: a rule without a word", text)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%.40s: %.60s, want %.60s", text, s, want)
		}
	}
}

// TestReadRules: a file in /etc hides its namesake, one to /dev/null too; what could not be read is told.
func TestReadRules(t *testing.T) {
	r := Read(t.Context(), hosttest.New(t, `
-- root/etc/udev/rules.d/10-a.rules --
A=="1"
-- root/usr/lib/udev/rules.d/10-a.rules --
A=="2"
-- link/etc/udev/rules.d/20-b.rules --
/dev/null
-- root/usr/lib/udev/rules.d/20-b.rules --
A=="3"
-- root/lib/udev/rules.d/30-c.rules --
A=="4"
nonsense
-- root/usr/lib/udev/rules.d/README --
A=="5"
-- denied/etc/udev/rules.d/05-d.rules --
-- root/etc/udev/rules.d/05-d.rules --
A=="6"
-- root/usr/lib/udev/rules.d/40-e.rules --
A=="7"
`))
	var got []string
	for _, rule := range r.Rules {
		got = append(got, rule.At()+rule.Tokens[0].Value)
	}
	want := "/etc/udev/rules.d/10-a.rules:11 /lib/udev/rules.d/30-c.rules:14 /usr/lib/udev/rules.d/40-e.rules:17"
	if strings.Join(got, " ") != want || len(r.Errs) != 1 || r.Err == nil {
		t.Errorf("%s, %v, %v", got, r.Errs, r.Err)
	}
}

// TestLabelsPerFile: a jump ends with its file (udev-rules.c: labels are resolved within a file).
func TestLabelsPerFile(t *testing.T) {
	a, _ := Parse("/a", []byte(`GOTO="e"`+"\n"+`ENV{A}="1"`))
	b, _ := Parse("/b", []byte(`ENV{B}="1"`+"\n"+`LABEL="e"`))
	if out := (&Rules{Rules: append(a, b...)}).Apply(converter("x")); out.Env["A"] != "" || out.Env["B"] != "1" {
		t.Errorf("%v", out.Env)
	}
}
