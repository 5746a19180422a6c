// Package hosttest makes hosts out of txtar files for tests, in the form that
// package sample documents.
package hosttest

import (
	"os"
	"testing"

	"fettle/host"
	"fettle/host/sample"
)

// Source is a host.Source made of a txtar archive.
type Source = sample.Source

// Parse reads txtar text.
func Parse(b []byte) (*Source, map[string]string, error) { return sample.Parse(b) }

// Load reads a txtar file. Extra is whatever sections it does not know, for
// the caller ("want").
func Load(t testing.TB, file string) (src *Source, extra map[string]string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	src, extra, err = Parse(b)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return src, extra
}

// New makes a host of txtar text.
func New(t testing.TB, text string) *host.Host {
	t.Helper()
	src, _, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return host.New(src)
}
