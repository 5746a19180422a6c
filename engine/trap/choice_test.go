package trap

import "testing"

func TestChoose(t *testing.T) {
	tr := testTrap("a", nil)
	if _, err := tr.Choose(Finding{}, []string{"x=1"}); err == nil {
		t.Error("a trap without choices took one")
	}
	tr.Choices = []Choice{{Name: "mode", Values: []string{"strict", "nullok"}, Default: "strict"}, {Name: "group"}}
	for given, want := range map[string]string{"": "strict", "mode=nullok": "nullok", "group=a=b": "strict"} {
		f, err := tr.Choose(Finding{}, split(given))
		if err != nil || f.Chosen("mode") != want {
			t.Errorf("%q: mode %q, %v; want %q", given, f.Chosen("mode"), err, want)
		}
	}
	f, _ := tr.Choose(Finding{}, []string{"group=a=b"})
	if got := f.Chosen("group"); got != "a=b" {
		t.Errorf("group %q", got)
	}
	for _, bad := range []string{"mode", "mode=lax", "colour=red"} {
		if _, err := tr.Choose(Finding{}, []string{bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
