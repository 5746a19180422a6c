package mcp

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/internal/means"
)

func TestHelpFits(t *testing.T) {
	apptest.HelpFits(t, (&program{App: &app.App{}}).root(), Main, 1)
}

func TestUsageTells(t *testing.T) {
	apptest.UsageTells(t, (&program{App: &app.App{}}).root(), Main)
}

// What is wrong is told in one line, with what was expected, and status 2.
func TestRefusesItsFlags(t *testing.T) {
	dir := t.TempDir()
	fettle, open, short, good := dir+"/fettle", dir+"/open", dir+"/short", dir+"/good"
	for name, mode := range map[string]os.FileMode{fettle: 0o755, open: 0o644, short: 0o600, good: 0o600} {
		text := "0123456789abcdef0123456789abcdef\n"
		if name == short {
			text = "secret\n"
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"--fettle " + dir + "/none":                         "expected the program fettle",
		"--allow-host -oProxyCommand=x":                     "expected the name of a host",
		"--allow-host a*":                                   "expected the name of a host",
		"--allow-path relative":                             "absolute path",
		"--allow-path " + dir + "/none":                     "absolute path",
		"--hub https://hub":                                 "belong together",
		"--hub http://hub.example --hub-token-file " + good: "in the clear",
		"--listen 0.0.0.0:7411 --token-file " + good:        "address of the loopback",
		"--listen 192.0.2.1:7411 --token-file " + good:      "address of the loopback",
		"--listen 127.0.0.1:0":                              "needs --token-file",
		"--listen 127.0.0.1:0 --token-file " + open:         "others may read it",
		"--listen 127.0.0.1:0 --token-file " + short:        "at least 32",
		"--listen 127.0.0.1:0 --token-file " + dir:          "directory",
		"--token-file " + good:                              "is for --listen",
		"--audit " + dir + " --allow-path " + dir:           "directory",
	} {
		if !strings.Contains(args, "--fettle") {
			args = "--fettle " + fettle + " " + args
		}
		var out, errs bytes.Buffer
		code := Main(strings.Fields(args), strings.NewReader(""), &out, &errs)
		if code != 2 || !strings.Contains(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%s: status %d, %s", args, code, errs.String())
		}
	}
}

// A fettle that somebody else can have put there is not run.
func TestPlantedFettle(t *testing.T) {
	means.Root(t)
	fettle := t.TempDir() + "/fettle"
	if err := errors.Join(os.WriteFile(fettle, nil, 0o755), os.Chown(fettle, means.Nobody, means.Nobody)); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := Main([]string{"--fettle", fettle}, strings.NewReader(""), &out, &errs); code != 2 ||
		!strings.Contains(errs.String(), "belongs to another user") {
		t.Errorf("status %d, %s", code, errs.String())
	}
}
