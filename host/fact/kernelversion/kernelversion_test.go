package kernelversion

import (
	"strings"
	"testing"

	"fettle/internal/means"
)

func TestCompare(t *testing.T) {
	order := []string{
		"2.6.26",
		"2.6.32.71",
		"2.6.33",
		"3.2",
		"3.10.0-862.el7.x86_64",
		"4.9.30",
		"4.10-rc1",
		"4.10",
		"4.10.1",
		"4.12-rc1",
		"4.12-rc5+",
		"4.12",
		"5.4.0",
		"5.15.131",
		"6.1.128",
		"6.10",
		"10.0",
	}
	for i, a := range order {
		for j, b := range order {
			got, err := Compare(a, b)
			if want := map[bool]int{true: -1}[i < j] + map[bool]int{true: 1}[i > j]; err != nil || got != want {
				t.Errorf("%s, %s: %d, %v; want %d", a, b, got, err, want)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for text, same := range map[string]string{"6.1.0-30-amd64": "6.1", " v6.1\n": "6.1", "4.4.0-98-generic": "4.4",
		"4.18.0-553.el8_10.x86_64": "4.18", "3.10.0-1160.119.1.el7.x86_64": "3.10",
		"5.10.0-0.deb10.16-amd64": "5.10", "6.8.12-4-pve": "6.8.12", "4.1.12-124.el7uek.x86_64": "4.1.12", "4.13.0-rc7": "4.13-rc7",
		"4.12.": "4.12", "4.12-rc": "4.12", "4.12-rc0x": "4.12-rc0"} {
		if c, err := Compare(text, same); c != 0 || err != nil {
			t.Errorf("%q is not %s: %d, %v", text, same, c, err)
		}
	}
	// A candidate, whatever its number, comes before its release.
	for _, rc := range []string{"4.12-rc1000000", "4.12-rc2147483647", "4.12-rc9223372036854775807"} {
		if c, err := Compare(rc, "4.12"); c != -1 || err != nil {
			t.Errorf("%s is not before 4.12: %d, %v", rc, c, err)
		}
	}
	for _, bad := range []string{"", "6", "x.y", "..", "-1.2", "6.", "4 .1", "99999999999999999999.1", "v"} {
		if v, err := Parse(bad); err == nil || !strings.Contains(err.Error(), "is not a version of Linux") || v != (Version{}) {
			t.Errorf("%q: %v, %v", bad, v, err)
		}
	}
	if _, err := Compare("6.1", "?"); err == nil {
		t.Error("? is a version")
	}
}

func TestBefore(t *testing.T) {
	for _, c := range []struct {
		v, than string
		want    bool
		rc      int
	}{{"4.11.12", "4.12", true, 0}, {"4.12-rc1", "4.12", true, 1}, {"4.12-rc1", "4.12-rc2", true, 1}, {"4.12.0", "4.12", false, 0},
		{"6.1.0-30-amd64", "4.12", false, 0}} {
		v, err := Parse(c.v)
		if err != nil || v.Before(c.than) != c.want || v.Candidate() != c.rc {
			t.Errorf("%s before %s: %v, candidate %d, %v", c.v, c.than, v.Before(c.than), v.Candidate(), err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a version that is none is taken")
		}
	}()
	Version{}.Before("next")
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	for _, s := range []string{"6.1.0-30-amd64", "4.12-rc1", "2.6.32.71", "v5.4", "3.10.0-1160.el7", "1.-rc",
		"0.0.0.0.0-rc9999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Parse(s)
		if err != nil {
			return
		}
		for _, n := range v {
			if n < 0 || v.Candidate() < 0 {
				t.Errorf("%q: %v", s, v)
			}
		}
		if v.Compare(v) != 0 {
			t.Errorf("%q: is not itself", s)
		}
	})
}
