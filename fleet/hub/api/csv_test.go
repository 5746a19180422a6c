package api

import (
	"encoding/csv"
	"net/http/httptest"
	"slices"
	"testing"
)

type cells []string

func (c cells) CSV() (header []string, lines [][]string) { return []string{"x"}, [][]string{c} }

// TestCSVComputesNothing: no cell begins a formula, in whatever way spreadsheets
// know one.
func TestCSVComputesNothing(t *testing.T) {
	w := httptest.NewRecorder()
	writeCSV(w, "x", cells{"=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\u202e=1", "a=1", "", "b\n=1", `"=1`})
	r := csv.NewReader(w.Body)
	r.FieldsPerRecord = -1
	got, err := r.ReadAll()
	want := []string{"'=1+1", "'+1", "'-1", "'@SUM(1)", `\t=1`, `\r=1`, `\u202e=1`, "a=1", "", `b\n=1`, `"=1`}
	if err != nil || len(got) != 2 || !slices.Equal(got[1], want) {
		t.Errorf("%q, %v", got, err)
	}
}
