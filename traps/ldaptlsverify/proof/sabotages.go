package proof

import (
	"bytes"

	"fettle/engine/remedy/step"
	"fettle/lab/sabotage"
)

// Sabotages are plans that must be noticed.
var Sabotages = []sabotage.Sabotage{
	{Name: "any-certificate", Scenario: "verification-off", Spoil: sabotage.Replaced(func(f step.File) ([]step.Step, bool) {
		now := bytes.ReplaceAll(f.Content, []byte("demand"), []byte("allow"))
		meant := !bytes.Equal(now, f.Content)
		f.Content = now
		return []step.Step{f}, meant
	})},
	{Name: "no-certificate-at-all", Scenario: "ca-file-gone", Spoil: sabotage.Replaced(func(f step.File) ([]step.Step, bool) {
		f.Content = append(f.Content, "TLS_REQCERT never\n"...)
		return []step.Step{f}, true
	})},
}
