package disks

import (
	"slices"
	"strings"
	"testing"
)

func TestOfZpool(t *testing.T) {
	for head, want := range map[string]bool{
		"              capacity     operations     bandwidth\n": true,
		"NAME   SIZE  ALLOC   FREE  CKPOINT\n":                  true,
		"Device r/s r_await w/s w_await %util\n":                false,
		"capacity\n":                                            false,
		"":                                                      false,
	} {
		if OfZpool(head) != want {
			t.Errorf("%q: %v", head, !want)
		}
	}
}

func TestGroupsOfIostat(t *testing.T) {
	loads := []Load{{Name: "sda"}, {Name: "nvme0n1"}, {Name: "sdb"}, {Name: "nvme1n1"}, {Name: "md0"}, {Name: "vda"}}
	var got []string
	for _, g := range Alike(loads) {
		got = append(got, members(g))
	}
	if want := []string{"sd*: sda sdb", "nvme*: nvme0n1 nvme1n1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for names, want := range map[string]string{
		"sdb,sda": "sdb,sda: sdb sda",
		"sda":     "expected at least two disks",
		"sda,sdz": `there is no disk "sdz" in the file`,
		"":        `there is no disk "" in the file`,
	} {
		g, err := Together(loads, names)
		said := members(g)
		if err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("--group %s: %s, want %s", names, said, want)
		}
	}
}

func members(g Group) string {
	var names []string
	for _, m := range g.Members {
		names = append(names, m.Name)
	}
	return g.Name + ": " + strings.Join(names, " ")
}
