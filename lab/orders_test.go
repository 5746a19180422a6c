package lab

import "testing"

// TestSlipTurn: in as many turns as there are each slip has had its own, once.
func TestSlipTurn(t *testing.T) {
	for i := range 7 {
		if !(SlipTurn{}).Has(i) {
			t.Errorf("slip %d is left out, though all are wanted", i)
		}
		had := 0
		for at := range 10 {
			if (SlipTurn{Of: 5, At: at}).Has(i) {
				had++
			}
		}
		if had != 2 {
			t.Errorf("slip %d had %d turns in ten, want 2", i, had)
		}
	}
}
