package main

import (
	"bytes"
	"os"
	"testing"
)

// TestFresh finds out that rules.book is not what the rules come to.
func TestFresh(t *testing.T) {
	want, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../rules.book")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("traps/rules/rules.book is out of date: go generate ./traps/rules")
	}
}
