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
		"NAME   SIZE  ALLOC\n":                                  false,
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

// TestRecorded: zpool list tells nothing of what disks did.
func TestRecorded(t *testing.T) {
	tree := "t 1 2 3 4 5 6\n  sda 1 2 3 4 5 6\n  sdb 1 2 3 4 5 6\n"
	for head, want := range map[string]int{"NAME ALLOC FREE CAP\n": 0, "pool alloc free read write read write\n": 1} {
		pools, err := ParseZpool("f", strings.NewReader(head+tree), 0)
		if err != nil {
			t.Fatal(err)
		}
		if s := Recorded(pools); len(s.Groups) != want || !s.Rule.Assumed || len(s.Pools) != 1 {
			t.Errorf("%s: %+v", head, s)
		}
	}
	pools, err := ParseZpool("f", strings.NewReader("pool alloc free read write read write\nt 1 2 3 4 5 6\n  sda 1 2 3 4 5 6\n"), 0)
	if s := Recorded(pools); err != nil || len(s.Groups) != 0 {
		t.Errorf("one disk alone: %+v, %v", s.Groups, err)
	}
}

func members(g Group) string {
	var names []string
	for _, m := range g.Members {
		names = append(names, m.Name)
	}
	return g.Name + ": " + strings.Join(names, " ")
}
