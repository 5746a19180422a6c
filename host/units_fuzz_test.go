package host

import "testing"

func FuzzParseUnits(f *testing.F) {
	f.Add([]byte("Id=a.service\nMainPID=1\n\nId=b.service\n"))
	f.Add([]byte("\n\n=\nx"))
	f.Add([]byte("  UNIT LOAD ACTIVE SUB\n● bad.service loaded failed failed Something\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseUnits(b)
		for _, u := range ParseListedUnits(b) {
			if !validUnitName(u.Name) {
				t.Errorf("%+v", u)
			}
		}
	})
}
