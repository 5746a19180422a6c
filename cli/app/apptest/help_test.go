package apptest

import "testing"

func TestShort(t *testing.T) {
	for text, good := range map[string]bool{
		"Save what the checks read": true, "Find, explain and fix traps": true,
		"Saves what the checks read": false, "Save what the checks read.": false, "save what": false, "Paths between keys": false,
		"Does it become fast?": false, "": false,
	} {
		if bad := short(text); (bad == "") != good {
			t.Errorf("%q: %s", text, bad)
		}
	}
}
