package host

import "testing"

func FuzzParseUnits(f *testing.F) {
	f.Add([]byte("Id=a.service\nMainPID=1\n\nId=b.service\n"))
	f.Add([]byte("\n\n=\nx"))
	f.Add([]byte("  UNIT LOAD ACTIVE SUB\n● bad.service loaded failed failed Something\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseUnits(b)
		for n, u := range parseListUnits(b) {
			if n != u.Name || !validUnitName(n) {
				t.Errorf("%q: %+v", n, u)
			}
		}
	})
}
