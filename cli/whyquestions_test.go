package cli

import (
	"strings"
	"testing"

	"fettle/traps"
	"fettle/why"
)

// TestQuestions asks what the articles answer, in strangers' sentences, and what only sounds so.
func TestQuestions(t *testing.T) {
	x, err := why.New(traps.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"what happens if you rename a file which is open for writing in a program?", "it or its folder is renamed"},
		{"what happens to an open file when I rename the directory above it", "it or its folder is renamed"},
		{"I moved a log while the daemon still had it open. Where do its lines go?", "it or its folder is renamed"},
		{"what happens if you change a symbolic link to point somewhere else while it is open?", "a symbolic link to it is changed"},
		{"I changed a symlink while a program had the file open", "a symbolic link to it is changed"},
		{"if I replace a symlink with ln -sfn, do processes that hold the old file open notice?", "a symbolic link to it is changed"},
		{"what happens when you unlink a file that is held open", "it is deleted"},
		{"does a hard link keep the data when the original is deleted", "one is deleted"},

		{"how do I rename a file in open office", ""},
		{"how do I open a port for a directory server", ""},
		{"what is a symbolic link", ""},
		{"how to move a directory to another disk", ""},
		{"how can I hard reset the link of a switch", ""},
	} {
		got, err := x.Find(strings.NewReader(c.text))
		switch {
		case err != nil:
			t.Error(err)
		case c.want == "" && len(got) > 0:
			t.Errorf("%q: %+v", c.text, got)
		case c.want != "" && (len(got) == 0 || got[0].Trap != "deleted-open-files"):
			t.Errorf("%q: %+v", c.text, got)
		case c.want != "" && got[0].Symptom != "" && !strings.Contains(got[0].Symptom, c.want):
			t.Errorf("%q: %q, want %q", c.text, got[0].Symptom, c.want)
		}
	}
}
