package zfswritedistribution

import (
	"testing"

	"fettle/trap/traptest"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

func TestLore(t *testing.T) {
	if a, err := Trap.Lore.Article(); err != nil || len(a.Symptoms) < 3 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestPartitionOf(t *testing.T) {
	for _, c := range []struct {
		name, disk string
		want       bool
	}{{"sda1", "sda", true}, {"sda", "sda", false}, {"sdaa1", "sda", false}, {"nvme0n1p12", "nvme0n1", true}, {"nvme0n12", "nvme0n1", false}, {"mmcblk0p1", "mmcblk0", true}} {
		if got := partitionOf(c.name, c.disk); got != c.want {
			t.Errorf("%s of %s: %v", c.name, c.disk, got)
		}
	}
}
