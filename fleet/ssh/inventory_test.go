package ssh

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestInventory has Ansible itself read inventories.
func TestInventory(t *testing.T) {
	means.Short(t, "takes seconds")
	means.Tool(t, "ansible-inventory")
	dir := t.TempDir()
	ini := filepath.Join(dir, "hosts.ini")
	if err := os.WriteFile(ini, []byte(`mail.example.org
[web]
web[1:3]
web9 ansible_host=192.0.2.9 ansible_user=admin ansible_port=2222
[db]
db1 ansible_user=postgres
db2 ansible_host=2001:db8::2 ansible_port=2200
[site:children]
web
db
[web:vars]
x=1
`), 0o600); err != nil {
		t.Fatal(err)
	}
	web := []string{"web1", "web2", "web3", "ssh://admin@192.0.2.9:2222"}
	db := []string{"postgres@db1", "ssh://[2001:db8::2]:2200"}
	for _, c := range []struct {
		groups []string
		want   []string
	}{
		{nil, append(append(slices.Clone(db), "mail.example.org"), web...)},
		{[]string{"web"}, web},
		{[]string{"site"}, append(slices.Clone(db), web...)},
		{[]string{"db", "ungrouped"}, append(slices.Clone(db), "mail.example.org")},
	} {
		if got, err := Inventory(t.Context(), ini, c.groups); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, %v; want %q", c.groups, got, err, c.want)
		}
	}
	if _, err := Inventory(t.Context(), ini, []string{"wbe"}); err == nil || !strings.Contains(err.Error(), `no group "wbe"`) {
		t.Errorf("a group that is not there: %v", err)
	}
	if _, err := Inventory(t.Context(), filepath.Join(dir, "none"), nil); err == nil || !strings.Contains(err.Error(), "no host") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// What ssh is given is never an option, and never a word of a shell.
func FuzzInventory(f *testing.F) {
	f.Add(
		`{"_meta":{"hostvars":{"a":{"ansible_host":"-oProxyCommand=x","ansible_port":1e9}}},"all":{"children":["b"]},"b":{"hosts":["a",` +
			`"$(x)"],"children":["b"]}}`,
	)
	f.Fuzz(func(t *testing.T, s string) {
		hosts, err := parseInventory([]byte(s), nil)
		if err != nil {
			return
		}
		for _, h := range hosts {
			if strings.HasPrefix(h, "-") || strings.ContainsAny(h, " ;$`'\"\n") {
				t.Errorf("host %q", h)
			}
		}
	})
}
