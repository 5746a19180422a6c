package bridgemtu

import (
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestLore(t *testing.T) {
	a, err := lore.Article()
	if err != nil {
		t.Fatal(err)
	}
	if a.ID != "bridge-mtu" || len(a.Symptoms) < 5 || !strings.Contains(a.Body, "# By hand") {
		t.Errorf("%+v", a)
	}
}

// planOf makes the plan of the one finding on a golden host, and writes its
// steps: kind, what, and the lines that a file gains or loses.
func planOf(t *testing.T, file string) (remedy.Plan, string, error) {
	t.Helper()
	src, _ := hosttest.Load(t, file)
	h := host.New(src)
	for _, o := range traptest.Run(t, &Trap, h) {
		if o.Status != trap.Found {
			continue
		}
		p, err := Trap.Plan(t.Context(), h, o)
		var b strings.Builder
		for _, s := range p.Steps {
			b.WriteString(s.Describe() + "\n")
			if f, ok := s.(step.File); ok {
				had := map[string]int{}
				for line := range strings.Lines(string(f.Was)) {
					had[line]++
				}
				for line := range strings.Lines(string(f.Content)) {
					if had[line]--; had[line] < 0 {
						b.WriteString("+" + line)
					}
				}
			}
		}
		return p, b.String(), err
	}
	t.Fatalf("%s: nothing was found", file)
	return remedy.Plan{}, "", nil
}

func TestPlan(t *testing.T) {
	for file, want := range map[string]string{
		"trapped-netplan": `change /etc/netplan/50-cloud-init.yaml
+      mtu: 1500
set the running MTU of br0 to 1500 bytes
set the running MTU of enp2s0 to 1500 bytes
`,
		"trapped-ifupdown": `set the running MTU of br0 to 1500 bytes
set the running MTU of vnet0 to 1500 bytes
`,
		"trapped-networkd": `create /etc/systemd/network/20-eno1.network.d/90-fettle-mtu.conf
+[Link]
+MTUBytes=9000
set the running MTU of br0 to 9000 bytes
set the running MTU of eno1 to 9000 bytes
`,
		"trapped-networkmanager": `change /etc/NetworkManager/system-connections/port.nmconnection
+mtu=1500
run /usr/bin/nmcli connection reload
set the running MTU of br0 to 1500 bytes
set the running MTU of ens3 to 1500 bytes
`,
		"trapped-old-kernel": `set the running MTU of vnet0 to 9000 bytes
set the running MTU of br0 to 9000 bytes
`,
		"trapped-libvirt": `set the running MTU of virbr1 to 9000 bytes
set the running MTU of vnet3 to 9000 bytes
`,
		"root": `change /etc/network/interfaces
+    mtu 1500
`,
	} {
		t.Run(file, func(t *testing.T) {
			p, got, err := planOf(t, "testdata/"+file+".txtar")
			if err != nil || got != want {
				t.Errorf("%v\n%s\nwant:\n%s", err, got, want)
			}
			if cuts := file == "trapped-netplan"; p.CutsConnection != cuts {
				t.Errorf("CutsConnection %v, want %v", p.CutsConnection, cuts)
			}
			for _, n := range p.Notes {
				t.Log(n)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for file, want := range map[string]string{
		"trapped-both-explicit": "which of them the network outside supports is not visible from here",
		"trapped-quarrel":       "is configured by [ifupdown systemd-networkd]: decide",
		"trapped-vlan-above":    "eno1 would have to go down to 1500, and with it storage, which is on top of it with 9000",
		"trapped-uplinks":       "the uplinks of br0 have different MTUs: eno1 (1500), vxlan5 (1450)",
		"denied-found":          "not all of the configuration could be read",
	} {
		_, _, err := planOf(t, "testdata/"+file+".txtar")
		if r, ok := err.(*remedy.Refusal); !ok || !strings.Contains(r.Why, want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
