package dmcachesmq

import (
	"strings"
	"testing"
)

func TestKernelOf(t *testing.T) {
	for _, c := range []struct {
		release, policy, target string
		want                    mend
		why                     string
	}{
		{"6.1.0-30-amd64", "smq", "", mended, "4.12"},
		{"4.12.0", "smq", "", mended, "4.12"},
		{"4.12.14-122.165-default", "smq", "", mended, "4.12"}, // SLES 12 SP5
		{"4.18.0-553.el8_10.x86_64", "mq", "", mended, "4.12"},
		{"4.13.0-19-generic", "smq", "", mended, "4.12"}, // Ubuntu 16.04 HWE
		{"4.12.0-rc1", "smq", "", before, "4.2 to 4.11"},
		{"4.12.0-rc3+", "smq", "", unsure, "release candidates"},
		{"4.11.12", "smq", "", before, "4.2 to 4.11"},
		{"4.10.0-38-generic", "smq", "", before, "4.2 to 4.11"},
		{"4.9.0-19-amd64", "smq", "1.9.0", before, "dm-cache 1.9.0 is from before the rework"},
		{"4.9.0-19-amd64", "smq", "2.0.0", unsure, "backported the rework"},
		{"4.9.0-19-amd64", "", "", before, "4.2 to 4.11"},
		{"4.4.0-98-generic", "smq", "", before, "4.2 to 4.11"},
		{"4.4.0-98-generic", "", "", unsure, "policy"},
		{"3.16.0-6-amd64", "smq", "", unsure, "came with Linux 4.2"},
		{"3.16.0-6-amd64", "", "", unsure, "no smq"},
		{"3.10.0-1160.119.1.el7.x86_64", "smq", "", mended, "RHEL 7.5"},
		{"3.10.0-862.el7.x86_64", "smq", "2.0.0", mended, "RHEL 7.5"},
		{"3.10.0-693.21.1.el7.x86_64", "smq", "", unsure, "RHEL 7.5"},
		{"3.10.0-693.21.1.el7.x86_64", "smq", "2.0.0", unsure, "RHEL 7.5"},
		{"3.10.0-693.21.1.el7.x86_64", "smq", "1.9.0", before, "1.9.0"},
		{"3.10.108", "smq", "", unsure, "came with Linux 4.2"},
		{"", "smq", "", unsure, `uname -r is ""`},
		{"next", "smq", "1.9.0", unsure, "not known"},
	} {
		got, why := kernelOf(c.release, c.policy, c.target)
		if got != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s, %s, dm-cache %q: %d, %s; want %d, %s", c.release, c.policy, c.target, got, why, c.want, c.why)
		}
	}
}

func TestSMQPolicy(t *testing.T) {
	for _, c := range []struct {
		policy, release string
		want            bool
	}{{"smq", "", true}, {"mq", "4.4.0", false}, {"mq", "4.9.0", true}, {"mq", "?", false}, {"cleaner", "6.1.0", false}} {
		if got := smqPolicy(c.policy, c.release); got != c.want {
			t.Errorf("%s on %s: %v", c.policy, c.release, got)
		}
	}
}

func TestCacheTarget(t *testing.T) {
	for text, want := range map[string]string{"cache            " +
		"v2.3.0\nstriped          v1.6.0\n": "2.3.0", "writecache v1.0.0\n": "", "": "", "cache\n": ""} {
		if got := cacheTarget([]byte(text)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	for v, want := range map[string]int{"2.3.0": 2, "10.0": 10, "": 0, "x": 0} {
		if major(v) != want {
			t.Error(v)
		}
	}
}
