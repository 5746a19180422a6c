package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"fettle/engine/trap"
)

// TestFixIsOffered: the command has the hosts of the filter, and nothing that a host's name
// could smuggle into a shell, an option or an inventory.
func TestFixIsOffered(t *testing.T) {
	all, _ := hubs(t)
	for i, name := range []string{"-oProxyCommand=id", "a;id", "$(id)", "a b", "web*", "x\ny ansible_connection=local", "root@web9",
		"web1,db1"} {
		all.host("h7"+string(rune('a'+i)), name, "web", nil, "evil")
	}
	all.host("h79", "app1", "web", nil, "visible")
	all.report("h1", "web1", "visible", trap.Critical, 0) // the day before accepts a warning
	all.browse("olga")
	for path, want := range map[string]string{
		"/api/v1/traps/bridge-mtu/fix":                   `"command":"fettle fix bridge-mtu --host web1,app1,web2 --batch 5"`,
		"/api/v1/traps/bridge-mtu/fix?label=part":        `"command":"fettle fix bridge-mtu --host web1 --batch 5"`,
		"/api/v1/traps/bridge-mtu/fix?severity=critical": `"command":"fettle fix bridge-mtu --host web1 --batch 5"`,
		"/api/v1/traps/bridge-mtu/fix?severity=notice":   `"command":""`,
		"/api/v1/traps/bridge-mtu/inventory":             "[fettle]\nweb1\napp1\nweb2\n",
		"/trap/bridge-mtu":                               "8 hosts are left out",
		"/host/h1":                                       "fettle undo 0001",
	} {
		code, body, _ := all.get(path)
		if code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, without %s:\n%s", path, code, want, body)
		}
	}
	_, body, h := all.get("/api/v1/traps/bridge-mtu/playbook")
	var plays []map[string]any
	if err := yaml.Unmarshal([]byte(body), &plays); err != nil || len(plays) != 1 || plays[0]["serial"] != uint64(5) ||
		!strings.Contains(h.Get("Content-Disposition"), "bridge-mtu.yml") {
		t.Errorf("%v %v\n%s", err, plays, body)
	}
	if code, _, _ := all.get("/api/v1/traps/own-visible/playbook"); code != http.StatusNotFound {
		t.Errorf("a playbook for a trap that the hub does not know: %d", code)
	}
}
