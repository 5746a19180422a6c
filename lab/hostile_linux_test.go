package lab_test

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"fettle/internal/means"
	"fettle/lab"
)

// A guest that writes what is no frame to its channel is stopped at once, and
// is not believed.
func TestGarbageOnTheChannelIsNamed(t *testing.T) {
	means.Short(t, "takes seconds")
	v := play(t, lab.Scenario{Name: "garbage", Innocent: true, Prepare: []lab.Act{
		{Write: &lab.File{Path: "/dev/ttyS0", Content: "@9 deadbeef AAAAAAAA\n"}}, {Run: []string{"sleep", "100"}}}})
	if v.OK || !strings.Contains(v.Why, "the guest's channel to the host broke: damaged frame") {
		t.Errorf("verdict: %+v", v)
	}
}

// Of a console that is flooded only the last lines are kept, and the scenario
// goes on.
func TestConsoleFlood(t *testing.T) {
	means.Short(t, "takes seconds")
	s := lab.Scenario{Name: "flood", Needs: lab.Needs{Tools: []string{"dd"}}, Prepare: []lab.Act{
		{
			Run: []string{"dd", "if=/dev/zero", "of=/dev/console", "bs=64k", "count=512", "status=none"},
		}, {Run: []string{"ip", "link", "set", "nosuch", "up"}}}}
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // else there is garbage, also of the tests before
	var before, m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	v := play(t, s)
	runtime.ReadMemStats(&m)
	if v.OK || !strings.Contains(v.Why, "nosuch") {
		t.Errorf("verdict: %s", v.Why)
	}
	if grown := int64(m.HeapAlloc) - int64(before.HeapAlloc); grown > 24<<20 {
		t.Errorf("%d MiB more of heap after 32 MiB of console", grown>>20)
	}
}
