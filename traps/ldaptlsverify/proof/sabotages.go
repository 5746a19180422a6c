package proof

import (
	"bytes"

	"fettle/lab/sabotage"
	"fettle/remedy"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "any-certificate", Scenario: "verification-off", Spoil: sabotage.Replaced(func(f remedy.File) ([]remedy.Step, bool) {
		now := bytes.ReplaceAll(f.Content, []byte("demand"), []byte("allow"))
		meant := !bytes.Equal(now, f.Content)
		f.Content = now
		return []remedy.Step{f}, meant
	})},
	{Name: "no-certificate-at-all", Scenario: "ca-file-gone", Spoil: sabotage.Replaced(func(f remedy.File) ([]remedy.Step, bool) {
		f.Content = append(f.Content, "TLS_REQCERT never\n"...)
		return []remedy.Step{f}, true
	})},
}
