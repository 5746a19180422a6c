package fix

import (
	"errors"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
)

// What the plan wrote must not be found either: the trap's whole check is asked, not
// its subject alone. What was in the file before, or is elsewhere, is not the plan's.
func TestBrought(t *testing.T) {
	const file = "/etc/udev/rules.d/70-x.rules"
	plan := remedy.Plan{Steps: []step.Step{step.File{Path: file, Was: []byte("a\nold\n"), Content: []byte("a\nnew\nold\n")}}}
	for source, want := range map[string]bool{
		file + ":2": true, file + ":1": false, file + ":3": false, file + ":9": false, file: false, "/etc/other:2": false, "": false,
	} {
		found := trap.Outcome{Severity: trap.Warning, Subject: "/usr/bin/probe", Status: trap.Found, Summary: "it is missing",
			Evidence: []trap.Evidence{{Source: source}}}
		err := brought([]trap.Outcome{{Subject: "tty", Status: trap.Clear}, found}, plan)
		var still *remedy.StillFound
		if errors.As(err, &still) != want {
			t.Errorf("%s: %v", source, err)
		}
		found.Status = trap.Clear
		if err := brought([]trap.Outcome{found}, plan); err != nil {
			t.Errorf("%s, clear: %v", source, err)
		}
	}
}

// Only clear is mended: of that very subject.
func TestMended(t *testing.T) {
	o := func(subject string, s trap.Status) trap.Outcome {
		return trap.Outcome{Subject: subject, Status: s, Summary: "it bites", Reason: "why"}
	}
	notice := o("a", trap.Found)
	notice.Severity = trap.Notice
	const gone = "the restarted program has no deleted files"
	for _, c := range []struct {
		name     string
		outcomes []trap.Outcome
		vanishes string
		want     string // of the error; "" is mended
	}{
		{"clear", []trap.Outcome{o("a", trap.Clear)}, "", ""},
		{"clear, and another is found", []trap.Outcome{o("b", trap.Found), o("a", trap.Clear)}, "", ""},
		{"found", []trap.Outcome{o("a", trap.Found)}, "", "the check still finds it: it bites"},
		{"a notice that stays", []trap.Outcome{notice}, "", "the check still finds it: it bites"},
		{"unknown", []trap.Outcome{o("a", trap.Unknown)}, "", "why"},
		{"unknown of the whole host", []trap.Outcome{o("a", trap.Clear), o("", trap.Unknown)}, "", "why"},
		{"unknown of another", []trap.Outcome{o("a", trap.Clear), o("b", trap.Unknown)}, "", ""},
		{"does not apply", []trap.Outcome{o("a", trap.NotApplicable)}, "", "neither found nor clear, but not-applicable: why"},
		{"only the host is clear", []trap.Outcome{o("", trap.Clear)}, "", "does not speak of it any more"},
		{"silence", nil, "", "does not speak of it any more"},
		{"vanished as the plan says", []trap.Outcome{o("", trap.Clear)}, gone, ""},
		{"was to vanish, and does not apply", []trap.Outcome{o("a", trap.NotApplicable)}, gone, "not-applicable"},
		{"was to vanish, and is found", []trap.Outcome{o("a", trap.Found)}, gone, "still finds it"},
	} {
		err := mended(c.outcomes, remedy.Part{Subject: "a", Vanishes: c.vanishes})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		var still *remedy.StillFound
		if errors.As(err, &still) != strings.Contains(c.want, "still finds") {
			t.Errorf("%s: %T", c.name, err)
		}
	}
}
