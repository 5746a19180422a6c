package rule

import "testing"

// A list is evidence by its names, or by how many were read: never by a number that could be taken for
// what fits.
func TestListed(t *testing.T) {
	glob := &Fact{Kind: "glob", Args: []string{"/etc/a/*", "/etc/b/*"}}
	for _, c := range []struct {
		fact *Fact
		els  []any
		want string
	}{
		{glob, nil, "/etc/a/*, /etc/b/*: none"},
		{glob, []any{"/etc/a/1", "/etc/b/2"}, "/etc/a/*, /etc/b/*: /etc/a/1, /etc/b/2"},
		{glob, []any{"1", "2", "3", "4", "5"}, "/etc/a/*, /etc/b/*: 1, 2, 3 and 2 more"},
		{&Fact{Kind: "fstab", Args: []string{"all"}}, []any{struct{}{}, struct{}{}}, "fstab: 2 read"},
		{&Fact{Kind: "processes", Args: []string{"sshd"}}, []any{}, "processes sshd: none"},
	} {
		if e := listed("table", c.fact, c.els); e.Source+": "+e.Value != c.want {
			t.Errorf("%s: %s, want %s", e.Source, e.Value, c.want)
		}
	}
}
