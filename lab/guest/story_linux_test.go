package guest

import (
	"strings"
	"testing"
)

// A fix that sets another trap is noticed: found now and not before, also in a
// subject that was not there before, or could not be looked at.
func TestNewlySet(t *testing.T) {
	const before = `{"trap":"a","outcomes":[{"trap":"a","subject":"x","status":"found"}]}
{"trap":"b","outcomes":[{"trap":"b","subject":"y","status":"clear"},{"trap":"b","subject":"z","status":"found"}]}
{"trap":"c","outcomes":[{"trap":"c","status":"unknown"}]}
{"trap":"d","outcomes":[{"trap":"d","status":"not-applicable"}]}
`
	for _, c := range []struct{ name, after, want string }{
		{"nothing changes", before, ""},
		{"the trap itself", strings.Replace(before, `"x","status":"found"`, `"new","status":"found"`, 1), ""},
		{"clear before", strings.Replace(before, "clear", "found", 1), "b:y"},
		{"unknown before", strings.Replace(before, "unknown", "found", 1), "c"},
		{"a new subject", before + `{"trap":"d","outcomes":[{"trap":"d","subject":"new","status":"found"}]}`, "d:new"},
		{"found before and after", strings.Replace(before, "clear", "unknown", 1), ""},
	} {
		got := strings.Join(newlySet(statusOf(outcomes(before), "a"), statusOf(outcomes(c.after), "a")), " ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
