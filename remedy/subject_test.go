package remedy

import "testing"

// After a boot the disks have changed their names with one another: resume
// has to verify the member that it mended.
func TestSubjectAfterBoot(t *testing.T) {
	f := newFakeMD(t)
	f.name = "md127"
	f.devs["sda1"], f.devs["sdb1"] = f.devs["sdb1"], f.devs["sda1"]
	e := &Engine{Machine: f}
	s := MDReadd{Array: "md0", Member: "sda1", ArrayUUID: mdArray, DeviceUUID: mdFirst}
	for _, c := range []struct{ subject, want string }{
		{"md0/sda1", "md127/sdb1"},
		{"mdadm.conf", "mdadm.conf"}, // not a name of the step's
	} {
		h := e.subjectNow(t.Context(), Head{Subject: c.subject, Plan: Plan{Steps: []Step{s}}})
		if h.Subject != c.want {
			t.Errorf("%s became %s, expected %s", c.subject, h.Subject, c.want)
		}
	}
	delete(f.devs, "sdb1") // the disk is gone: the step says so, not the verification
	if h := e.subjectNow(t.Context(), Head{Subject: "md0/sda1", Plan: Plan{Steps: []Step{s}}}); h.Subject != "md0/sda1" {
		t.Errorf("the subject of a lost disk became %s", h.Subject)
	}
}
