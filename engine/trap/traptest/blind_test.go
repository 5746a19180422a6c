package traptest

import (
	"testing"

	"fettle/engine/trap"
)

// TestLostAndGained: what changes where an answer is taken away.
func TestLostAndGained(t *testing.T) {
	of := func(subject string, s trap.Status) trap.Outcome {
		return trap.Outcome{Subject: subject, Status: s, Summary: "is ill"}
	}
	ill, well := []trap.Outcome{of("a", trap.Found)}, []trap.Outcome{of("a", trap.Clear)}
	for name, c := range map[string]struct {
		before, after []trap.Outcome
		lost, gained  string
	}{
		"the same":                 {ill, ill, "", ""},
		"nothing":                  {well, well, "", ""},
		"unknown":                  {ill, []trap.Outcome{of("a", trap.Unknown)}, "", ""},
		"another unknown":          {ill, []trap.Outcome{of("", trap.Unknown)}, "", ""},
		"clear":                    {ill, well, "a is clear", ""},
		"clear, another unknown":   {ill, append(well[:1:1], of("b", trap.Unknown)), "a is clear", ""},
		"not applicable":           {ill, []trap.Outcome{of("a", trap.NotApplicable)}, "a is not-applicable", ""},
		"silence":                  {ill, nil, "a is not spoken of", ""},
		"found":                    {well, ill, "", "a is found: is ill"},
		"found after silence":      {nil, ill, "", "a is found: is ill"},
		"found after unknown":      {[]trap.Outcome{of("a", trap.Unknown)}, ill, "", "a is found: is ill"},
		"found, another unknown":   {well, append(ill[:1:1], of("b", trap.Unknown)), "", "a is found: is ill"},
		"another found":            {ill, []trap.Outcome{of("b", trap.Found)}, "a is not spoken of", "b is found: is ill"},
		"one more found":           {ill, append(ill[:1:1], of("b", trap.Found)), "", "b is found: is ill"},
		"two found":                {nil, append(ill[:1:1], of("b", trap.Found)), "", "a is found: is ill\nb is found: is ill"},
		"unknown instead of clear": {well, []trap.Outcome{of("a", trap.Unknown)}, "", ""},
	} {
		if lost := Lost(c.before, c.after); lost != c.lost {
			t.Errorf("%s: lost is %q, want %q", name, lost, c.lost)
		}
		if gained := Gained(c.before, c.after); gained != c.gained {
			t.Errorf("%s: gained is %q, want %q", name, gained, c.gained)
		}
	}
}
