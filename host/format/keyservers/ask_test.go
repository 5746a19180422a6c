package keyservers

import "testing"

// TestAddressesOfUserIDs: whoever writes a user ID makes nobody ask this host's own services,
// its neighbours or a cloud's.
func TestAddressesOfUserIDs(t *testing.T) {
	for address, want := range map[string]bool{
		"ann@example.org": true, "Ann@Keys.Example.ORG": true, "a+b@xn--bcher-kva.example": true, "x/../y@a.example": true,
		"x@localhost": false, "x@127.0.0.1": false, "x@[::1]": false, "x@169.254.169.254": false, "x@2130706433": false,
		"x@0x7f.1": false, "x@metadata": false, "x@a.b/../c": false, "x@a.example:22": false, "x@a.example#": false, "x@b@a.example": false,
		"x@-a.example": false, "x@a..example": false, "x@.example": false, "x@\x00a.example": false, "x@a.example\r\nX: y": false,
		"@a.example": false, "x@": false, "x": false,
	} {
		urls, err := WebKeyURLs(address)
		if got := err == nil; got != want {
			t.Errorf("%q: %q, %v", address, urls, err)
		}
		if _, err := ServiceNames(address); (err == nil) != want {
			t.Errorf("%q: in DNS: %v", address, err)
		}
	}
}
