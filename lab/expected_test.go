package lab

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	const found = `{"results":[{"trap":"a","outcomes":[{"subject":"x","status":"found"},{"subject":"y","status":"clear"}]}]}`
	const clear = `a warning
{"results":[{"trap":"a","outcomes":[{"status":"clear"},{"subject":"z","status":"not-applicable"}]}]}`
	const unknown = `{"results":[{"trap":"a","outcomes":[{"subject":"x","status":"unknown","reason":"denied"}]}]}`
	const two = `{"results":[{"outcomes":[{"subject":"x","status":"found"},{"subject":"y","status":"unknown"}]}]}`
	for _, c := range []struct {
		act  Act
		out  string
		want bool
	}{
		{Checked("a", map[string]string{"x": "found"}), found, true},
		{Checked("a", map[string]string{"*": "found"}), found, true},
		{Checked("a", map[string]string{"y": "found"}), found, false},
		{Checked("a", map[string]string{"x": "found", "q": "found"}), found, false},
		{Checked("a", map[string]string{"x": "found"}), two, false},
		{Checked("a", map[string]string{"*": "found"}), two, false},
		{Checked("a", map[string]string{"x": "found", "*": "unknown"}), two, true},
		{Checked("a", map[string]string{"x": "clear", "y": "unknown"}), two, false},
		{Checked("a", Nothing), found, false},
		{Checked("a", Nothing), clear, true},
		{Checked("a", map[string]string{"": "clear"}), clear, true},
		{Checked("a", map[string]string{"*": "found"}), clear, false},
		{Checked("a", Nothing), unknown, false},
		{Checked("a", Nothing), "Nothing found", false},
		{Mended("a"), `{"result":"mended"}`, true},
		{Mended("a"), "+  for f in x; { y; }\n+}\n{\n \"result\": \"mended\",\n \"plan\": {\n }\n}\n", true},
		{Mended("a"), `{"result":"nothing-to-mend"}`, false},
		{Act{Expect: &Expect{Has: "x"}}, "no document", true},
	} {
		if err := c.act.Expect.Judge(c.out); (err == nil) != c.want {
			t.Errorf("%+v, %s: %v", c.act.Expect, c.out, err)
		}
	}
	if got := Checked("a", map[string]string{"y": "unknown"}).Expect.Status; got != 4 {
		t.Errorf("exit status %d of what is unknown", got)
	}
	if got := Checked("a", Nothing).Expect; got.Status != 0 || strings.Join(got.Run, " ") != "fettle check a --format json" {
		t.Errorf("%+v", got)
	}
	if got := Mended("a", "--yes").Expect.Run; strings.Join(got, " ") != "fettle fix a --yes --format json" {
		t.Errorf("%q", got)
	}
	if got := Checked("a", map[string]string{"x": "found", "y": "unknown"}).Expect.Status; got != 1 {
		t.Errorf("exit status %d", got)
	}
}
