package rule

import (
	"testing"

	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
)

// TestClosedFolder: root looks into a user's folder with that user's rights. What is
// closed to the user there is absent; what is closed elsewhere is unknown.
func TestClosedFolder(t *testing.T) {
	r, ms := Parse("x.yaml", []byte(`id: closed-folder
title: A file
severity: notice
symptoms: ["one thing is wrong", "two things are wrong", "three things are wrong"]
tags: [x]
since: x
references: [x]
about: |
  # What happens

  x

  # What to do

  x

facts:
  files: {glob: "/data/*/*/a.conf"}
findings:
  - when: size(files) > 0
    summary: is there
clear: is not there
`), false)
	if len(ms) > 0 {
		t.Fatal(ms)
	}
	const (
		closed  = "-- root/data/u/x/b --\n-- denied/data/u/x/a.conf --\n"
		users   = closed + "-- stat/data/u --\nuid 1000 type dir\n"
		unknown = "unknown: needs root: stat of /data/u/x/a.conf: permission denied"
	)
	for text, want := range map[string]string{
		"euid: 0\n" + users:  "clear: is not there",
		"euid: 0\n" + closed: unknown,
		"euid: 1\n" + users:  unknown,
	} {
		src, _, err := hosttest.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := traptest.Lines(traptest.Run(t, r.Trap(), host.New(src))); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}
